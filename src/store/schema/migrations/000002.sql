-- For the gauges of the metrics: what is kept and what has failed is counted from these indexes alone,
-- where the table holds millions of records (src/store/sampleState.ts).
create index task_kept on task (expires_at) include (asset_bytes) where status = 'succeeded';
create index task_failed on task (purge_at) where status = 'failed';
