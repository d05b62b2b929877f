FROM darkroom-stand-in
RUN ln -sf busybox /usr/bin/sh && ln -s busybox /usr/bin/wget
COPY versitygw /usr/local/bin/versitygw
ENTRYPOINT ["versitygw"]
