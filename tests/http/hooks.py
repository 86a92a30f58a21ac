"""Schemathesis hooks: NDJSON bodies, and the names of existing collections."""
import json
import urllib.request
from urllib.parse import urljoin

import schemathesis

COLLECTIONS = ["articles", "headlines", "copies"]


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    if isinstance(value, bytes):
        return value
    document = value if isinstance(value, dict) else {"text": str(value)}
    return "\n".join([json.dumps(document), json.dumps({"text": str(value)}), json.dumps({"delete": str(value)}), str(value)]).encode(errors="replace")


@schemathesis.deserializer("application/x-ndjson")
def first_line(ctx, response):
    line = response.content.split(b"\n")[0]
    if not line:
        # The export of a collection without documents has no line to check. Another one stands in for it.
        with urllib.request.urlopen(urljoin(response.request.url, "/api/v1/articles/export")) as export:
            line = export.readline()
    return json.loads(line)


@schemathesis.hook
def map_path_parameters(ctx, path_parameters):
    """Sends two of three requests to an existing collection, so that they reach the handlers. Does not delete these collections."""
    operation = ctx.operation
    if operation and operation.method.upper() == "DELETE" and operation.path.endswith("/{collection}"):
        return path_parameters
    name = (path_parameters or {}).get("collection")
    if isinstance(name, str) and len(name) % 3:
        path_parameters["collection"] = COLLECTIONS[sum(map(ord, name)) % 3]
    return path_parameters
