FROM darkroom-stand-in
RUN ln -sf busybox /usr/bin/sh && useradd --uid 1000 temporal
COPY temporal-server temporal-sql-tool /usr/local/bin/
COPY entrypoint.sh /etc/temporal/entrypoint.sh
WORKDIR /etc/temporal
USER temporal
CMD ["/etc/temporal/entrypoint.sh"]
