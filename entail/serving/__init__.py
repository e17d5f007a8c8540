"""HTTP API over the library, and its client.

`app.create_app` builds the FastAPI application, `app.serve` runs it with uvicorn, `client.Client` calls it.
A request passes `admission` (token, concurrency, body, deadline), then a function of `routes`, which takes
encoders, corpora and indexes from the `Service`. `messages` holds the pydantic models of both sides, and
`errors` turns exceptions into responses. Texts of many requests are encoded together, see
`entail.runtime.batching`.
"""
