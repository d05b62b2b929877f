-- An upload taken for deletion says when it may be taken again (src/store/takeUploads.ts): one whose blobs
-- cannot be deleted goes behind the others instead of standing before them for ever.
alter table upload add column next_try_at timestamptz;
-- When an upload is due: the sweep's order. Writers of the table wait while it is built. `upload_sweep`
-- serves processes of the version before, and goes when none is left.
create index upload_due on upload (coalesce(next_try_at, sweep_after));
