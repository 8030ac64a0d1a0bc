# SPDX-License-Identifier: Apache-2.0
"""MaxText's own trainer and the pipeline, from the same start (scripts/trainers.sh).

Arguments: the names of the models to train; all by default.
"""

import json
import logging
import pathlib
import runpy
import sys
import tempfile
from unittest import mock

import jax
import maxtext
from absl import app
from maxtext.trainers.pre_train import train
from maxtext.utils import max_utils, train_utils

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import trainer_table

SCRIPT = pathlib.Path(__file__).resolve().with_name("pipeline.py")
CONFIG = pathlib.Path(maxtext.__file__).parent / "configs" / "base.yml"
SETTINGS = """
    hardware=cpu skip_jax_distributed_system=true enable_goodput_recording=false
    enable_tensorboard=false log_config=false jax_cache_dir= dataset_type=synthetic
    run_name=check enable_checkpointing=false steps=20 gradient_accumulation_steps=4
    dtype=float32 weight_dtype=float32 matmul_precision=highest attention=dot_product
    max_target_length=32 per_device_batch_size=1 override_model_config=true
    base_num_decoder_layers=4 base_emb_dim=64 base_mlp_dim=128 vocab_size=256
    base_num_query_heads=4 base_num_kv_heads=2 head_dim=16
"""
EXPERTS = "base_moe_mlp_dim=32 num_experts=4 num_experts_per_tok=2 megablox=false"
LATENT = "q_lora_rank=0 kv_lora_rank=16 qk_nope_head_dim=16 qk_rope_head_dim=8"
MODELS = {
    "Llama 2": "",
    "Llama 2, scanned": "scan_layers=true param_scan_axis=0",
    "Llama 2, tensor parallel": "ici_fsdp_parallelism=2 ici_tensor_parallelism=2",
    "Gemma": "model_name=gemma-2b",
    "Gemma 2": "model_name=gemma2-2b base_num_decoder_layers=8",
    "Qwen 3": "model_name=qwen3-0.6b",
    "DeepSeek 2": f"model_name=deepseek2-16b {EXPERTS} {LATENT} v_head_dim=16 "
    "first_num_dense_layers=1 shared_experts=1 base_num_kv_heads=4",
}
TWO = "decoder/layers_2"
FOUR = "decoder/layers_1,decoder/layers_2,decoder/layers_3"
MIXED = "decoder/moe_layers_0,decoder/moe_layers_1,decoder/moe_layers_2"
ROWS = [
    ("Llama 2", "1F1B", 2, TWO),
    ("Llama 2", "1F1B", 4, FOUR),
    ("Llama 2", "Interleaved1F1B", 2, FOUR),
    ("Llama 2", "ZeroBubbleH1", 4, FOUR),
    ("Llama 2", "1F1B", 2, "auto"),
    ("Llama 2, scanned", "1F1B", 2, "2"),
    ("Llama 2, scanned", "ZeroBubbleH1", 4, "4"),
    ("Llama 2, tensor parallel", "1F1B", 2, TWO),
    ("Gemma", "1F1B", 2, TWO),
    ("Gemma 2", "1F1B", 2, TWO),
    ("Qwen 3", "ZeroBubbleH1", 4, FOUR),
    ("DeepSeek 2", "1F1B", 4, MIXED),
]
REPLACED = (
    (train_utils, "setup_train_loop"),
    (train_utils, "jit_train_step"),
    (max_utils, "print_compiled_memory_stats"),
    (jax.lax, "scan"),
)


def losses(run, settings):
    """What a trainer logs, with all its digits."""
    jax.clear_caches()
    with tempfile.TemporaryDirectory() as folder:
        metrics = pathlib.Path(folder, "metrics")
        places = [f"base_output_directory={folder}", f"metrics_file={metrics}"]
        run([str(CONFIG), *SETTINGS.split(), *settings, *places])
        lines = metrics.read_text().splitlines()
    return [json.loads(line)["learning/loss"] for line in lines]


def own(settings):
    return losses(lambda argv: train.main(["train", *argv]), settings)


def pipelined(settings, schedule, meshes, stages):
    def run(argv):
        argv = [str(SCRIPT), str(meshes), schedule, stages, *argv]
        with mock.patch.object(sys, "argv", argv):
            runpy.run_path(str(SCRIPT), run_name="__main__")

    before = [(owner, name, getattr(owner, name)) for owner, name in REPLACED]
    try:
        # MaxText's own flags are read once in a process.
        with mock.patch.object(app, "run", lambda main: main(sys.argv)):
            return losses(run, settings)
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


logging.getLogger("absl").setLevel(logging.ERROR)
found = {}
for model, schedule, meshes, stages in ROWS:
    if sys.argv[1:] and model not in sys.argv[1:]:
        continue
    settings = MODELS[model].split()
    if "scan_layers=true" not in settings:
        settings.append("scan_layers=false")
    if model not in found:
        # The trainer itself has all devices in one mesh.
        whole = [text for text in settings if "_parallelism=" not in text]
        found[model] = own(whole)
    trainer_table.row(
        f"MaxText, {model}",
        schedule,
        meshes,
        stages,
        found[model],
        lambda case=(settings, schedule, meshes, stages): pipelined(*case),
    )
trainer_table.finish()
