"""What transformers and accelerate do with a model of 2.5 GB: loading it two ways, and keeping it on the host."""

import sys
import tempfile
from pathlib import Path

import torch
from accelerate import cpu_offload, cpu_offload_with_hook
from accelerate.hooks import remove_hook_from_module
from transformers import LlamaConfig, LlamaForCausalLM
from workloads import timed

CONFIG = LlamaConfig(
    hidden_size=2048, intermediate_size=5632, num_hidden_layers=22, num_attention_heads=16, vocab_size=32000
)


def main() -> int:
    """Each twice, after one pass or two that are left out, in which the page cache and pools fill."""
    wrong = 0
    ids = torch.ones(1, 8, dtype=torch.long)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        there = save(Path(folder))
        expected = there(ids.cuda()).logits.float().sum().item()
        del there
        for name, options in (("from_pretrained_to", {}), ("device_map", {"device_map": "cuda"})):
            for turn in range(3):
                with timed(name, first=not turn):
                    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, **options).to("cuda")
                wrong += model(ids.cuda()).logits.float().sum().item() != expected
                del model
        kept = LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
    with torch.no_grad():
        whole, hook = cpu_offload_with_hook(kept, "cuda:0")
        for turn in range(4):
            with timed("model_offload", first=turn < 2):
                wrong += whole(ids.cuda()).logits.float().sum().item() != expected
                hook.offload()
        remove_hook_from_module(kept, recurse=True)
        cpu_offload(kept, "cuda:0")
        for turn in range(3):
            with timed("layer_offload", first=not turn):
                wrong += kept(ids).logits.float().sum().item() != expected
    print("wrong", wrong)
    return int(wrong > 0)


def save(folder: Path) -> LlamaForCausalLM:
    """A model of random weights, as files of at most a gigabyte."""
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(CONFIG).eval()
    model.save_pretrained(folder, max_shard_size="1GB")
    torch.set_default_dtype(torch.float32)
    return model


if __name__ == "__main__":
    sys.exit(main())
