"""dcpf doctor: the installation, and whether a model file is intact."""

import importlib
import os
import pkgutil
import platform
from pathlib import Path
from typing import Annotated, Any

import typer

import dcpf
from dcpf.cli.options import Json
from dcpf.cli.output import console, format_size, print_json, printable
from dcpf.text import plural

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "polars", "safetensors")


def doctor(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", show_default=False, help="Model file to check.")
    ] = None,
    json: Json = False,
) -> None:
    """Show versions, cores and the cache of compiled code, and check a model file."""
    found: dict[str, Any] = {"versions": _versions(), "machine": _machine(), "compiled code": _compiled_code()}
    problem = None if model is None else _problem(model)
    if model is not None:
        found["model"] = {"path": str(model), "ok": problem is None, "problem": problem and str(problem)}
    if json:
        print_json(found)
    else:
        _show(found)
    if problem is not None:
        raise problem


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    versions = {"dcpf": dcpf.__version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def _machine() -> dict[str, Any]:
    from dcpf.kernels.threads import thread_count

    return {"system": platform.platform(), "cores": os.cpu_count(), "threads used": thread_count(None)}


def _compiled_code() -> dict[str, Any]:
    """Where compiled code is cached, so that it is compiled only once."""
    from dcpf import kernels as room

    modules = [importlib.import_module(f"dcpf.kernels.{found.name}") for found in pkgutil.iter_modules(room.__path__)]
    kernels = [kernel for module in modules for kernel in vars(module).values() if hasattr(kernel, "py_func")]
    paths = {kernel.stats.cache_path for kernel in kernels}
    folders = sorted(Path(path) for path in paths if path is not None)  # None where there is no place for it
    files = [file for folder in folders if folder.is_dir() for file in folder.glob("*.nb[ic]")]
    return {
        "folders": [str(folder) for folder in folders],
        "writable": bool(folders) and all(os.access(_existing(folder), os.W_OK) for folder in folders),
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
    }


def _existing(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(one for one in (folder, *folder.parents) if one.is_dir())


def _problem(model: Path) -> Exception | None:
    """What is wrong with a model file."""
    from dcpf import store

    try:
        store.verify(model)
        dcpf.load(model)
    except (ValueError, OSError) as error:
        return error
    return None


def _show(found: dict[str, Any]) -> None:
    from dcpf.kernels.compile import cache_warning

    screen = console()
    cache, machine = found["compiled code"], found["machine"]
    for name, value in found["versions"].items():
        screen.print(f"{name:14} {value}")
    screen.print(f"{'system':14} {machine['system']}")
    screen.print(f"{'cores':14} {machine['cores']}, {machine['threads used']} used")
    state = "writable" if cache["writable"] else "not writable, so every run compiles again; set NUMBA_CACHE_DIR"
    files = plural(cache["files"], "file")
    there = f"{files}, {format_size(cache['bytes'])}, {state}" if cache["folders"] else cache_warning()
    screen.print(f"{'compiled code':14} {there}", soft_wrap=True)
    for folder in cache["folders"]:
        screen.print(f"{'':14} {printable(folder)}", soft_wrap=True)
    if "model" in found and found["model"]["ok"]:
        screen.print(f"{'model':14} {printable(found['model']['path'])}: ok", soft_wrap=True)
