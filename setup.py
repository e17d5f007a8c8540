"""Packages of the wheel; pyproject.toml has everything else, but cannot name packages outside `entail/`."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["entail*"]), "entail.models"],
    package_dir={"entail.models": "models"},
)
