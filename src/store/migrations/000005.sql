-- An upload taken for deletion says when it may be taken again (src/store/takeUploads.ts): one whose blobs
-- cannot be deleted goes behind the others instead of standing before them for ever.
alter table upload add column next_try_at timestamptz;
-- When an upload is due: the sweep's order.
create index upload_due on upload (coalesce(next_try_at, sweep_after));
drop index upload_sweep;
