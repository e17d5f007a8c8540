"""An S3-compatible store of our own."""

import secrets
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def s3_url(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Return what makes a bucket in a server of this process and returns its URL."""
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)

    def make() -> str:
        bucket = f"b{secrets.token_hex(4)}"
        s3fs.S3FileSystem(skip_instance_cache=True).mkdir(bucket)
        return f"s3://{bucket}/entail"

    yield make
    server.stop()
