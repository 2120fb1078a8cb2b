# The server's image: `docker build -t baton .`. State lies in /data; Postgres and Redis are other containers' (compose.yaml).
FROM python:3.11.14-slim-bookworm AS build
WORKDIR /build
COPY requirements/runtime.txt requirements/runtime.txt
RUN python -m venv /opt/baton && /opt/baton/bin/python -m pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY alembic alembic
COPY hooks hooks
COPY policies policies
COPY web/dist web/dist
RUN /opt/baton/bin/python -m pip install --no-cache-dir --no-deps --no-build-isolation . && /opt/baton/bin/python -m pip uninstall --yes hatchling editables pip

FROM python:3.11.14-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /data --no-create-home baton && install --directory --owner=baton --mode=0700 /data
COPY --from=build /opt/baton /opt/baton
COPY deploy/healthy.py /opt/baton/healthy.py
ENV PATH=/opt/baton/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    BATON_HOME=/data BATON_HOST=0.0.0.0 PORT=8080 BATON_AUTH=on BATON_LOG_FORMAT=json
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["python", "/opt/baton/healthy.py"]
CMD ["baton", "serve"]
