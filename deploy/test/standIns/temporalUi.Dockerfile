FROM darkroom-stand-in
WORKDIR /home/ui-server
RUN useradd --uid 1000 temporal && mkdir config && chown temporal config
COPY temporal-ui ui-server
COPY docker.yaml config/docker.yaml
COPY start-ui-server.sh start-ui-server.sh
USER temporal
ENTRYPOINT ["./start-ui-server.sh"]
