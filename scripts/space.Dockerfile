# Made by scripts/deploy_space.py; deploy again instead of editing.
FROM python:3.11-slim-bookworm
# A Space runs as user 1000, who has to own what is written.
RUN useradd --create-home --home-dir /srv/entail --uid 1000 user && mkdir /data && chown user:user /data
USER 1000
ENV HOME=/srv/entail PATH=/srv/entail/.local/bin:$PATH
WORKDIR /srv/entail/app
COPY --chown=1000:1000 @REQUIREMENTS@ ./
RUN pip install --user --no-cache-dir --disable-pip-version-check @INDEX@-r @REQUIREMENTS@
COPY --chown=1000:1000 . ./
ENV @SETTINGS@
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s CMD ["python", "-c", \
    "import os, urllib.request as u; u.urlopen(f\"http://127.0.0.1:{os.environ.get('PORT', 7860)}/_stcore/health\")"]
CMD ["python", "-m", "entail.hub.space_start"]
