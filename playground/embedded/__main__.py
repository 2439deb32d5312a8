"""`python -m playground.embedded MODEL DATA_DIR`: the llama.cpp process that `backend` starts."""

import sys
from pathlib import Path

from playground.embedded.process import serve

if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
