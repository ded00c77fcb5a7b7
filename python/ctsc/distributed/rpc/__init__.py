# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.rpc: functions that other processes run, and references to what these made."""
from . import _script, functions
from ._agent import WorkerInfo
from .api import (RRef, TensorPipeRpcBackendOptions, BackendType, RpcBackendOptions, get_rpc_timeout, get_worker_info, init_rpc, is_available, remote, rpc_async, rpc_sync,
                  shutdown)
from .constants import DEFAULT_RPC_TIMEOUT_SEC

PyRRef = RRef
