"""Process 1 starts others, of the kind that the argument says."""

import multiprocessing
import os
import subprocess
import sys

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


def work(queue):
    queue.put((jax.process_count(), mw.distributed.is_initialized()))


def multiply(kind):
    context = multiprocessing.get_context(kind)
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    print("child", *queue.get(timeout=60), flush=True)
    child.join()


def fork(end):
    child = os.fork()
    if not child:
        end()
    os.waitpid(child, 0)
    print("child has ended", flush=True)


def fail():
    raise KeyError("of the child")


def use():
    try:
        mw.fetch(jnp.float32(1))
    except mw.distributed.ProcessError:
        os._exit(9)


def subprocess_again():
    command = [sys.executable, __file__, "none"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    print("child", done.stdout.split(), flush=True)


KINDS = {
    "none": lambda: None,
    "spawn": lambda: multiply("spawn"),
    "forkserver": lambda: multiply("forkserver"),
    "subprocess": subprocess_again,
    "exit": lambda: fork(lambda: sys.exit(3)),
    "raise": lambda: fork(fail),
    "use": lambda: fork(use),
}
if __name__ == "__main__":
    for kind in sys.argv[1:]:
        if jax.process_index() == 1 or jax.process_count() == 1:
            KINDS[kind]()
        for number in range(3):
            value = mw.fetch(jnp.float32(number))
    print("end", value, jax.process_count(), flush=True)
