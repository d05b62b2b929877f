# Calls every operation of the client. Runs within the text that runPython.ts makes.
async def every_operation(darkroom):
    tasks, webhooks, model = darkroom.tasks, darkroom.webhooks, given["model"]
    png = open(given["path"], "rb").read()
    read, write = os.pipe()
    os.write(write, png)
    os.close(write)
    images = [png, given["path"], open(given["path"], "rb"), os.fdopen(read, "rb", buffering=0)]
    image = await darkroom.images.edit(model=model, prompt="python all", images=images)
    await image.save(given["path"])
    assert open(given["path"], "rb").read() == await image.bytes()
    assert (await image.variant(width=128, format="webp").bytes())[8:12] == b"WEBP"
    assert image.task["credits_charged"] > 0
    for wrong in ([], [png, b"no image"], [b"\0" * (20 * 1048576 + 1)], [png + bytes(17000000)] * 4):
        error = await failure(lambda: darkroom.images.edit(model=model, prompt="", images=wrong))
        assert error["code"] == "invalid_value" and error["param"].startswith("images")
    task_id = (await tasks.create(model=model, action="generate", prompt="python all"))["task_id"]
    record = [each async for each in tasks.follow(task_id)][-1]
    assert "data" in await tasks.result(task_id)
    assert (await darkroom.estimate(model=model, action="generate", prompt="all"))["credits"] > 0
    assert (await failure(lambda: tasks.cancel(task_id)))["code"] == "task_not_cancellable"
    assert [len(page) async for page in tasks.list(limit=1).pages()] == [1, 1]
    assert len([row async for row in tasks.list(status="succeeded", limit=1)]) == 2
    assert len((await darkroom.models.list())["data"]) > 5
    assert (await darkroom.account.get())["credits"]["held"] == 0
    assert (await darkroom.usage.get(group_by="model"))["total"]["tasks"]["succeeded"] == 2
    deleted = await tasks.delete(task_id)
    assert (await failure(darkroom.images.of(record).bytes))["code"] == "result_expired"

    async def all_delivered():
        while {row["status"] async for row in webhooks.deliveries(id)} != {"delivered"}:
            time.sleep(0.1)

    hook = await webhooks.create(url=given["hook"], events=["task.failed"])
    id = hook["webhook_id"]
    delivery = (await webhooks.test(id))["delivery_id"]
    await all_delivered()
    await webhooks.redeliver(id, delivery)
    await all_delivered()
    rotated = await webhooks.rotate(id)
    await webhooks.test(id)
    await all_delivered()
    assert (await webhooks.enable(id))["status"] == (await webhooks.get(id))["status"] == "active"
    assert len([row async for row in webhooks.list()]) == 1
    await webhooks.delete(id)
    return [deleted["status"], hook["secret"], rotated["secret"]]
