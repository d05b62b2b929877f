FROM darkroom-stand-in
ENV PATH=/usr/lib/postgresql/18/bin:/usr/local/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/18/docker LANG=C.UTF-8
RUN sed -i "s/^#listen_addresses.*/listen_addresses = '*'/" /usr/share/postgresql/18/postgresql.conf.sample
# As in the official image. A tmpfs there has this mode.
RUN install --directory --owner postgres --group postgres --mode 3777 /var/run/postgresql
COPY postgresEntrypoint.sh /usr/local/bin/docker-entrypoint.sh
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
