# SPDX-License-Identifier: Apache-2.0
"""default_hooks.py - hooks(state, bucket) for DistributedDataParallel.register_comm_hook: a future of the averaged bucket. state: the group, None for all."""
from ctsc import _C

from ... import distributed_c10d as dist


def _reduced(group, tensor):
    group = dist._group_or_default(group)
    return dist.all_reduce(tensor.div_(group.size()), group=group, async_op=True).get_future()


def allreduce_hook(process_group, bucket):
    return _reduced(process_group, bucket.buffer()).then(lambda f: f.wait()[0])


def _compressed(dtype):
    def hook(process_group, bucket):
        small = bucket.buffer().to(dtype)

        def back(f):
            bucket.buffer().copy_(f.wait()[0])
            return bucket.buffer()
        return _reduced(process_group, small).then(back)
    return hook


fp16_compress_hook, bf16_compress_hook = _compressed(_C.float16), _compressed(_C.bfloat16)
fp16_compress_hook.__name__, bf16_compress_hook.__name__ = "fp16_compress_hook", "bf16_compress_hook"


def _wrapper(dtype):
    def wrap(hook):
        def run(state, bucket):
            whole = bucket.buffer()
            bucket.set_buffer(whole.to(dtype))

            def back(f):
                value = f.value()
                whole.copy_((value[0] if isinstance(value, (list, tuple)) else value).to(whole.dtype))
                bucket.set_buffer(whole)
                return whole
            return hook(state, bucket).then(back)
        return run
    return wrap


fp16_compress_wrapper, bf16_compress_wrapper = _wrapper(_C.float16), _wrapper(_C.bfloat16)
