//===- Extension.cpp - The compiler in a Python process -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The module `_meshwright`. It exchanges texts only, because JAX brings an MLIR
// of its own into the process.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/TextDrawing.h"
#include "meshwright/Partitioner/TextOptions.h"
#include "meshwright/Partitioner/TextPartitioner.h"
#include "meshwright/Partitioner/TextSchedule.h"
#include "meshwright/Planning/TextPlan.h"
#include "meshwright/Simulator/TextSimulator.h"
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace meshwright;

/// A text of the user's program, which need not be UTF-8; what is not, is
/// escaped.
static nb::object decode(const std::string &text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), text.size(), "backslashreplace"));
}

namespace {
/// The texts of a partitioned program.
struct Result {
  TextResult texts;
  /// Of a program that was repeated: what its module and its remarks are made from.
  nb::object program;
  std::string config;
  int64_t mostItems = 0;

  TextRequest makeRequest() const;
  const TextResult &getWhole();

  nb::dict getFragments() const {
    nb::dict result;
    for (const auto &[name, module] : texts.fragments)
      result[decode(name)] = decode(module);
    return result;
  }
};
} // namespace

static nb::object partitionError;

/// What is made of each of several.
template <typename Values, typename Make>
static nb::list makeList(const Values &values, Make make) {
  nb::list result;
  for (const auto &value : values)
    result.append(make(value));
  return result;
}

static nb::tuple makeMessage(const TextDiagnostic &diagnostic) {
  nb::list arguments = makeList(diagnostic.arguments, [](const auto &argument) {
    return nb::make_tuple(decode(argument.first), decode(argument.second));
  });
  return nb::make_tuple(diagnostic.severity, decode(diagnostic.file),
                        diagnostic.line, diagnostic.column,
                        decode(diagnostic.text), diagnostic.id, arguments);
}

[[noreturn]] static void raise(const std::vector<TextDiagnostic> &diagnostics) {
  nb::object error = partitionError(decode(describeErrors(diagnostics)));
  error.attr("messages") = makeList(diagnostics, makeMessage);
  PyErr_SetObject(partitionError.ptr(), error.ptr());
  throw nb::python_error();
}

/// The contents of a `str` or `bytes`, which must outlive the view.
static std::string_view viewText(nb::handle text) {
  Py_ssize_t size = 0;
  if (PyUnicode_Check(text.ptr())) {
    const char *data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!data)
      throw nb::python_error();
    return {data, static_cast<size_t>(size)};
  }
  if (PyBytes_Check(text.ptr())) {
    char *data = nullptr;
    if (PyBytes_AsStringAndSize(text.ptr(), &data, &size) != 0)
      throw nb::python_error();
    return {data, static_cast<size_t>(size)};
  }
  throw nb::type_error("expected a module as str (text) or bytes (bytecode)");
}

/// What some work gives that needs no Python, while other threads may run.
template <typename Work> static auto withoutLock(Work &&work) {
  nb::gil_scoped_release released;
  return work();
}

namespace {
/// A program on its way through the partitioner.
class Session {
public:
  explicit Session(nb::object module)
      : module(std::move(module)), session(viewText(this->module)) {
    if (!withoutLock([&] { return session.read(); }))
      raise(session.getDiagnostics());
  }

  nb::list getNames() const { return makeList(session.listNames(), decode); }

  void import(const std::string &config, int64_t mostItems) {
    this->config = config;
    this->mostItems = mostItems;
    TextRequest request;
    request.config = config;
    request.mostItems = mostItems;
    request.givesBytecode = true;
    request.givesRanges = true;
    request.warnsOfIdleSchedule = true;
    if (!withoutLock([&] { return session.import(request); }))
      raise(session.getDiagnostics());
  }
  nb::list getFragmentInfo() const;

  Result finish(const std::vector<std::string> &mergeRules,
                const std::vector<std::string> &scheduleRules) {
    Result result;
    result.texts =
        withoutLock([&] { return session.finish(mergeRules, scheduleRules); });
    if (!result.texts.succeeded)
      raise(result.texts.diagnostics);
    if (result.texts.isRepeated) {
      result.program = module;
      result.config = config;
      result.mostItems = mostItems;
    }
    return result;
  }

private:
  nb::object module; ///< What was read may refer to it.
  std::string config;
  int64_t mostItems = 0;
  TextSession session;
};
} // namespace

TextRequest Result::makeRequest() const {
  TextRequest request;
  request.program = viewText(program);
  request.config = config;
  request.givesBytecode = true;
  request.givesRanges = true;
  return request;
}

/// The same with the module and the remarks, for which a program that was repeated is
/// partitioned as a whole.
const TextResult &Result::getWhole() {
  if (!texts.isRepeated)
    return texts;
  TextRequest request = makeRequest();
  TextResult whole = withoutLock([&] { return partitionText(request); });
  if (!texts.isRepeated)
    return texts; // Another thread has made it meanwhile, and may be reading it.
  if (!whole.succeeded)
    raise(whole.diagnostics);
  if (whole.program != texts.program) {
    TextDiagnostic error;
    error.severity = "error";
    error.text = "what was repeated from a few microbatches is not what all of "
                 "them give; this is a bug in Meshwright, not in the program: "
                 "please report it together with the program";
    raise({error});
  }
  texts = std::move(whole);
  return texts;
}

static nb::object printAsText(std::string_view module) {
  std::vector<TextDiagnostic> diagnostics;
  std::optional<std::string> text =
      withoutLock([&] { return printBytecode(module, diagnostics); });
  if (!text)
    raise(diagnostics);
  return decode(*text);
}

/// The text of a partitioned program, which few ask for.
static nb::object printModule(Result &result) {
  return printAsText(result.getWhole().module);
}

/// JSON, and the same for people.
static nb::tuple explainSharding(nb::handle module, const std::string &config,
                                 const std::string &value,
                                 std::vector<std::string> mergeRules,
                                 std::vector<std::string> scheduleRules) {
  TextRequest request;
  request.program = viewText(module);
  request.config = config;
  request.mergeRules = std::move(mergeRules);
  request.scheduleRules = std::move(scheduleRules);
  std::vector<TextDiagnostic> diagnostics;
  std::optional<TextExplanation> explanation = withoutLock(
      [&] { return explainShardingOfText(request, value, diagnostics); });
  if (!explanation)
    raise(diagnostics);
  return nb::make_tuple(decode(explanation->json), decode(explanation->text));
}

/// Fragments of a stage have one tuple of origins, and each is one tuple: Python
/// looks again and again through objects that may be in circles.
nb::list Session::getFragmentInfo() const {
  auto orNone = [](std::optional<int64_t> number) -> nb::object {
    return number ? nb::object(nb::int_(*number)) : nb::none();
  };
  std::map<std::vector<std::pair<std::string, int64_t>>, nb::object> known;
  auto makeOrigins = [&](const auto &origins) {
    nb::object &made = known[origins];
    if (!made) {
      nb::list list;
      for (const auto &[name, count] : origins)
        list.append(nb::make_tuple(decode(name), count));
      made = nb::tuple(list);
    }
    return made;
  };
  nb::list result;
  for (const TextFragmentInfo &info : session.getFragmentInfos())
    result.append(nb::make_tuple(
        makeOrigins(info.origins), orNone(info.stageId),
        orNone(info.callCounter),
        info.splitType.empty() ? nb::object(nb::none())
                               : nb::object(nb::str(info.splitType.c_str())),
        decode(info.meshName)));
  return result;
}

/// The answer to a question that takes an error last, or a ValueError.
template <typename Question, typename... Args>
static auto ask(Question question, const Args &...args) {
  std::string error;
  auto answer = question(args..., error);
  if (!answer)
    throw nb::value_error(error.c_str());
  return std::move(*answer);
}

static nb::tuple makeSchedule(const TextScheduleInfo &info) {
  return nb::make_tuple(info.name, info.registryName, info.isRelation,
                        info.needsStages, info.source);
}

/// Transpose count, whether it is a weight gradient, microbatch, stage or None.
using WorkItemTuple =
    std::tuple<int64_t, bool, int64_t, std::optional<int64_t>>;

static bool askMustPrecede(const std::string &schedule, int64_t meshes,
                           const WorkItemTuple &first,
                           const WorkItemTuple &second) {
  auto makeItem = [](const WorkItemTuple &item) {
    auto [transposeCount, isWeight, microbatch, stage] = item;
    return TextWorkItem{transposeCount, isWeight, microbatch, stage};
  };
  return ask(mustPrecede, schedule, meshes, makeItem(first), makeItem(second));
}

/// JSON, a table for people, and notes.
static nb::tuple simulate(nb::handle program, const std::string &device,
                          const std::string &profile,
                          std::vector<std::string> costs, unsigned processes,
                          const std::string &compiled, bool overlaps) {
  SimulationRequest request = {{},        device,   profile, std::move(costs),
                               processes, compiled, overlaps};
  SimulationResult result;
  const Result *made = nullptr;
  if (nb::try_cast(program, made) && made->texts.isRepeated) {
    TextRequest partitioning = made->makeRequest();
    partitioning.mostItems = made->mostItems;
    result = withoutLock(
        [&] { return simulatePartitioning(request, partitioning); });
  } else {
    request.program =
        made ? std::string_view(made->texts.module) : viewText(program);
    result = withoutLock([&] { return simulateText(request); });
  }
  if (!result.succeeded)
    throw nb::value_error(result.error.c_str());
  return nb::make_tuple(decode(result.json), decode(result.table),
                        result.notes);
}

/// The contents of a file.
static nb::bytes draw(nb::handle input, const std::string &format,
                      const std::string &path, const std::string &title,
                      nb::handle recording) {
  TextDrawingRequest request = {viewText(input), format, path, title,
                                viewText(recording)};
  std::string drawn = ask([&](std::string &error) {
    return withoutLock([&] { return drawText(request, error); });
  });
  return nb::bytes(drawn.data(), drawn.size());
}

static nb::tuple plan(nb::handle input, bool isProgram,
                      const std::string &device, int64_t devices,
                      const std::string &memory,
                      std::vector<std::string> schedules,
                      std::vector<int64_t> microbatches,
                      std::vector<int64_t> meshes,
                      std::vector<std::string> costs, size_t candidates) {
  TextPlanRequest request = {viewText(input),
                             isProgram,
                             device,
                             memory,
                             devices,
                             std::move(schedules),
                             std::move(microbatches),
                             std::move(meshes),
                             std::move(costs),
                             candidates};
  TextPlan plan = ask([&](std::string &error) {
    return withoutLock([&] { return makeTextPlan(request, error); });
  });
  return nb::make_tuple(decode(plan.json), decode(plan.text));
}

static nb::tuple makeOption(const TextOptionInfo &option) {
  return nb::make_tuple(option.phase, option.key, option.type,
                        option.defaultValue, option.pipelineName, option.help,
                        option.least);
}

static void defineError(nb::module_ &m) {
  partitionError = nb::steal(PyErr_NewExceptionWithDoc(
      "_meshwright.PartitionError",
      "A program cannot be partitioned. `messages` are as those of a Result.",
      PyExc_RuntimeError, nullptr));
  m.attr("PartitionError") = partitionError;
  // The interpreter takes the module down before the statics of this library.
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { partitionError.reset(); }));
}

static nb::list makeRemarks(const TextResult &result) {
  return makeList(result.remarks, [](const TextRemark &remark) {
    return nb::make_tuple(remark.kind, remark.missed,
                          makeMessage(remark.about));
  });
}

static void defineResult(nb::module_ &m) {
  nb::class_<Result>(m, "Result", "A partitioned program, as texts.")
      .def_prop_ro("module", &printModule,
                   "The text of the partitioned module, with locations, which "
                   "is printed each time.")
      .def_prop_ro(
          "bytecode",
          [](Result &r) {
            const std::string &module = r.getWhole().module;
            return nb::bytes(module.data(), module.size());
          },
          "The partitioned module as MLIR bytecode, with locations.")
      .def_prop_ro(
          "is_repeated", [](const Result &r) { return r.texts.isRepeated; },
          "Whether few microbatches were partitioned, and the result repeated "
          "for all; what needs the whole program makes it then.")
      .def_prop_ro(
          "program", [](const Result &r) { return r.texts.program; },
          "What a runtime has to do, as JSON, with ranges if it is large; "
          "empty before the last phase.")
      .def_prop_ro(
          "io", [](const Result &r) { return r.texts.placement; },
          "Meshes and shardings of inputs and outputs, as JSON.")
      .def_prop_ro("fragments", &Result::getFragments,
                   "The distinct programs of fragments: function to module.")
      .def_prop_ro(
          "messages",
          [](const Result &r) {
            return makeList(r.texts.diagnostics, makeMessage);
          },
          "Warnings, remarks and their notes: tuples of severity, file (empty "
          "if it is not known), line, column, text, id (mostly empty), and "
          "arguments as pairs of name and value.")
      .def_prop_ro(
          "remarks", [](Result &r) { return makeRemarks(r.getWhole()); },
          "What passes did, or did not and why: tuples of kind, whether it was "
          "missed, and a message.")
      .def_prop_ro(
          "few_remarks", [](const Result &r) { return makeRemarks(r.texts); },
          "The same, of the few microbatches that were partitioned if others "
          "repeat these.");
}

static void definePartitioner(nb::module_ &m) {
  nb::class_<Session>(
      m, "Session",
      "A program on its way through the partitioner: read, imported, finished, "
      "each once. Steps raise PartitionError, also where the compiler itself "
      "has failed.")
      .def(nb::init<nb::object>(), nb::arg("module"),
           "Reads a module, text or bytecode.")
      .def_prop_ro("names", &Session::getNames,
                   "Of all computations and tensors of the program.")
      .def("import_program", &Session::import, nb::arg("config"),
           nb::arg("most_items") = 0,
           "Imports the program as a configuration in JSON says. One of more "
           "items than that may be partitioned for fewer microbatches, and the "
           "result repeated; 0 is never.")
      .def_prop_ro(
          "fragment_info", &Session::getFragmentInfo,
          "Descriptions of the fragments after the import phase, in program "
          "order: tuples of origins (pairs of name and transpose count), stage "
          "or None, call counter or None, split type or None, and mesh.")
      .def("finish", &Session::finish,
           nb::arg("merge_rules") = std::vector<std::string>(),
           nb::arg("schedule_rules") = std::vector<std::string>(),
           "Runs all other phases, with rules beside those of the "
           "configuration. The Result.");

  m.def(
      "print_bytecode",
      [](const nb::bytes &module) { return printAsText(viewText(module)); },
      nb::arg("module"),
      "The text, with locations, of a module that Meshwright wrote as "
      "bytecode. Raises PartitionError.");
  m.def("explain_sharding", &explainSharding, nb::arg("module"),
        nb::arg("config"), nb::arg("value"), nb::arg("merge_rules"),
        nb::arg("schedule_rules"),
        "Which annotations the shardings of a value, or of all, come from, as "
        "JSON and as text. Raises PartitionError.");
  m.def(
      "options", [] { return makeList(listOptions(), makeOption); },
      "The options of a configuration: tuples of phase, key, type, default as "
      "JSON, name in the phase's textual pipeline, help, and the least that a "
      "number may be.");
}

static void defineSimulator(nb::module_ &m) {
  m.def("simulate", &simulate, nb::arg("program"), nb::arg("device"),
        nb::arg("profile"), nb::arg("costs"), nb::arg("processes"),
        nb::arg("compiled") = "", nb::arg("overlaps") = true,
        "Simulates a Result, or a partitioned module; `profile`, and "
        "`compiled`, what "
        "compilers said of its fragments, are JSON or empty; without "
        "`overlaps`, the parts of overlapped pairs run one after the other. A "
        "tuple of JSON, a table for people, and notes. Raises ValueError.");
  m.def(
      "profile",
      [](const std::string &recording) { return ask(makeProfile, recording); },
      nb::arg("recording"),
      "How long each fragment and transfer of a recording took, both as JSON. "
      "Raises ValueError.");
  m.def("draw", &draw, nb::arg("input"), nb::arg("format"), nb::arg("path"),
        nb::arg("title"), nb::arg("recording"),
        "Draws a simulation or a program, both JSON, as the format or the "
        "ending of the path says; `recording` is JSON or empty. The contents "
        "of the file. Raises ValueError.");
  m.def("devices", &getDevicesAsJson,
        "The devices that come with Meshwright, as JSON: by name the figures "
        "of the cost model, and what XLA's compiler asks of a GPU.");
  m.def(
      "array_bytes",
      [](const std::string &device, unsigned bits,
         const std::vector<int64_t> &shape, const std::vector<int64_t> &order) {
        return ask(countArrayBytes, device, bits, shape, order);
      },
      nb::arg("device"), nb::arg("bits"), nb::arg("shape"), nb::arg("order"),
      "Bytes of its memory in which a device keeps an array with elements of "
      "that many bits; `order` are its dimensions from major to minor, or "
      "empty for the device's own. Raises ValueError for an unknown device.");
}

static void defineSchedules(nb::module_ &m) {
  m.def(
      "schedules", [] { return makeList(listTextSchedules(), makeSchedule); },
      "The builtin schedules: tuples of the name, the name in Python's "
      "registry, whether it is a relation (`must_precede`), and whether that "
      "orders only what has a stage.");
  m.def(
      "layout", [](const std::string &text) { return ask(readLayout, text); },
      nb::arg("text"),
      "The letters of the pieces of each stage of a layout. Raises "
      "ValueError.");
  m.def(
      "backward_order",
      [](const std::string &schedule, int64_t count, int64_t first) {
        return ask(orderBackward, schedule, count, first);
      },
      nb::arg("schedule"), nb::arg("count"), nb::arg("first"),
      "Which of `count` microbatches, numbered from `first` in the program, "
      "has its backward first, which next, and so on. Raises ValueError.");
  m.def("must_precede", &askMustPrecede, nb::arg("schedule"), nb::arg("meshes"),
        nb::arg("first"), nb::arg("second"),
        "Whether a relation demands that one step of a microbatch runs before "
        "another on the mesh of the first. Steps are tuples of transpose "
        "count, whether it is a weight gradient, microbatch, and stage or "
        "None. Raises ValueError.");
  m.def(
      "splits_backward",
      [](const std::string &schedule) { return ask(splitsBackward, schedule); },
      nb::arg("schedule"),
      "Whether a schedule, NAME or file:PATH, has a place for weight gradients "
      "that are apart. Raises ValueError.");
  m.def(
      "place_stages",
      [](const std::string &schedule, int64_t meshes, int64_t stages) {
        return ask(placeStages, schedule, meshes, stages);
      },
      nb::arg("schedule"), nb::arg("meshes"), nb::arg("stages"),
      "The position of the mesh of each stage. Raises ValueError.");
  m.def("plan", &plan, nb::arg("input"), nb::arg("is_program"),
        nb::arg("device"), nb::arg("devices"), nb::arg("memory"),
        nb::arg("schedules"), nb::arg("microbatches"), nb::arg("meshes"),
        nb::arg("costs"), nb::arg("candidates") = 0,
        "The best layout of a model, as JSON and as text. `input` are layers "
        "as JSON, or a program. The JSON has the best `candidates` with their "
        "configurations. Raises ValueError.");
}

NB_MODULE(_meshwright, m) {
  m.doc() = "The Meshwright compiler, in process.";
  m.attr("version") = MESHWRIGHT_VERSION;
  // What a daemon thread or a cache still holds when the interpreter ends is nothing that
  // users could mend.
  nb::set_leak_warnings(false);
  defineError(m);
  defineResult(m);
  definePartitioner(m);
  defineSimulator(m);
  defineSchedules(m);
}
