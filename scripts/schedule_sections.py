"""What docs/schedules.md says of each schedule, in the order of its sections.

A name of `meshwright schedule`, and the text before its drawing.
"""

SECTIONS = [
    (
        "none",
        "The order of the program, here written microbatch by microbatch.",
    ),
    ("GPipe", "Every mesh keeps all microbatches."),
    ("1F1B", "The bubble of GPipe, but mesh m of N keeps N − m microbatches at most."),
    (
        "Eager1F1B",
        "If transfers take time, 1F1B waits for them in every round. Twice "
        "the forwards in flight hide them, for twice the memory.",
    ),
    (
        "GPipeBut1F1BForLastMesh",
        "The last mesh need not keep anything: each backward can follow its forward.",
    ),
    (
        "Circular",
        "Two stages on each mesh. A phase of one microbatch per mesh goes "
        "through all stages before the next phase.",
    ),
    (
        "CircularWithReversedBackward",
        "Circular, with backward work in exactly the reverse order of forward work.",
    ),
    (
        "Interleaved1F1B",
        "Two stages on each mesh: the pipeline fills and drains in half the time, "
        "for more transfers. Microbatches must divide into equal rounds of at least "
        "one per mesh.",
    ),
    (
        "Combined1F1B",
        "Each forward runs with a backward in one overlapped step, so that the "
        "communication of experts overlaps with computation. Two more forwards than on "
        "the next mesh come first, so that no step waits.",
    ),
    (
        "CombinedInterleaved1F1B",
        "Combined1F1B in the order of Interleaved1F1B.",
    ),
    (
        "KimiK2",
        "Interleaved1F1B with one more forward in flight: even on the last mesh a "
        "backward and the next forward are of different microbatches, so that "
        "communication of experts in one can overlap with the other.",
    ),
    (
        "Seq1F1B",
        "1F1B over chunks of sequences; drawn here with one chunk, which is 1F1B. How "
        "to cut sequences is described [below](#chunks-of-a-sequence).",
    ),
    (
        "SlimPipe",
        "Seq1F1B with two stages on each mesh; drawn here with one chunk, which is "
        "Interleaved1F1B.",
    ),
    (
        "VocabParallel1F1B",
        "Each mesh has a stage of a chain and a part of the head: `S` computes the "
        "logits of its part of the vocabulary, their maximum and sum, and `T` needs "
        "those of all parts. Mesh m of N keeps N − m + 2 microbatches, and the last "
        "mesh has as much work as the others. [Below](#large-vocabularies) is how to "
        "use it.",
    ),
    (
        "LoopedBFS",
        "Two stages on each mesh. All microbatches go through one stage before the "
        "next, so that the gradients of a stage are complete early.",
    ),
    (
        "ZeroBubbleH1",
        "Gradients of weights are computed when the mesh would be idle. With equal "
        "times the bubble of 1F1B shrinks to a third.",
    ),
    (
        "ZeroBubbleH2ZeroTxLatency",
        "With enough forwards in flight no mesh idles between its first and its "
        "last action.",
    ),
    (
        "ZeroBubbleH2HalfTxLatency",
        "No idle time between first and last action, if a transfer takes half as "
        "long as a forward.",
    ),
    (
        "ZeroBubbleH2FullTxLatency",
        "No idle time between first and last action, if a transfer takes as long "
        "as a forward.",
    ),
    (
        "InterleavedZeroBubble",
        "Interleaved 1F1B with split backwards; with one stage on each mesh it is "
        "ZeroBubbleH1.",
    ),
    (
        "ZeroBubbleV",
        "Two stages on each mesh, placed like a V: the first mesh also has the last "
        "stage. No idle time between first and last action, with the memory of "
        "1F1B's first mesh on every mesh.",
    ),
    (
        "VHalf",
        "A V with about half of the memory of ZeroBubbleV, for some bubble: a "
        "microbatch moves through the meshes at an even pace, and the next one follows "
        "as soon as its actions fit in between.",
    ),
    (
        "VMin",
        "A V with about a third of the memory of ZeroBubbleV, and more bubble if "
        "stages are unequal.",
    ),
    (
        "DualPipeV",
        "Placed like a V; the forward of one stage overlaps with the backward of "
        "the other, so that communication of experts overlaps with computation. "
        "Needs at least twice as many microbatches as meshes.",
    ),
    (
        "DualPipe",
        "Two copies of the model: stage 4 + j is a copy of stage j, and microbatches "
        "enter at both ends. The program must add the gradients of the copies. Needs "
        "an even number of meshes, and an even number of microbatches of at least two "
        "per mesh.",
    ),
    (
        "ParallelPipelinesWithWrapAround",
        "Inference on a ring: each microbatch starts on its own mesh. {microbatches} "
        "microbatches.",
    ),
    (
        "Towers",
        "A graph of stages, in which each tower has a schedule of its own; drawn here "
        "with one tower, which is 1F1B. What towers are is described "
        "[below](#graphs-of-towers).",
    ),
    (
        "auto",
        "The shortest order that a search finds for the times of the program's stages, "
        "in the memory of 1F1B. Never longer than another schedule of this page that "
        "fits; drawn here for equal stages. [Below](#a-searched-schedule) is how to "
        "give times and memory.",
    ),
]
