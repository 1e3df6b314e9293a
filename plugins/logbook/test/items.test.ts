import { expect } from 'chai';
import type { LogbookService } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { createLogbook } from '../create-logbook.js';
import { migrations } from '../migrations/index.js';

const sha = 'ab'.repeat(32);

describe('items of the logbook', () => {
  eachDatabase((engine: TestEngine) => {
    let database: Database;
    let logbook: LogbookService;

    beforeEach(async () => {
      database = await engine.open('logbook', ['identity', 'logbook', 'scm', 'analysis', 'governance']);
      await database.migrate(migrations);
      logbook = createLogbook(database);
    });

    const item = () => logbook.items.add({ itemType: 'task', title: 'Wörk', scope: { a: [1] }, projectKey: 'p' });

    it('keeps every member of an item', async () => {
      await logbook.users.add('alice');
      const made = await logbook.items.add({ itemType: 'task', title: 't', status: 'new', ownerUserId: 'alice' });
      expect(made).to.deep.include({ itemType: 'task', title: 't', status: 'new', ownerUserId: 'alice', scope: {} });
      expect(made.createdAt).to.match(/^\d{4}-\d\d-\d\dT.*Z$/);
      expect(await logbook.items.get(made.itemId)).to.deep.equal(made);
      expect(await logbook.items.get(made.itemId + 1)).to.equal(null);
    });

    it('refuses an owner that does not exist', async () => {
      const failed = await logbook.items.add({ itemType: 'task', title: 't', ownerUserId: 'eve' }).catch((e) => e);
      expect(database.codec.errorKind(failed)).to.equal('foreign-key');
    });

    it('pages items newest first and filters them', async () => {
      const ids = [];
      for (const itemType of ['a', 'b', 'a']) ids.push((await logbook.items.add({ itemType, title: 't' })).itemId);
      const first = await logbook.items.query({ limit: 2 });
      expect(first.rows.map(({ itemId }) => itemId)).to.deep.equal([ids[2], ids[1]]);
      const second = await logbook.items.query({ limit: 2, cursor: first.next ?? '' });
      expect(second.rows.map(({ itemId }) => itemId)).to.deep.equal([ids[0]]);
      expect(second.next).to.equal(null);
      const only = await logbook.items.query({ limit: 9, itemType: 'a', status: 'open' });
      expect(only.rows.map(({ itemId }) => itemId)).to.deep.equal([ids[2], ids[0]]);
      for (const bad of [{ limit: 0 }, { limit: 1_001 }, { limit: 1, cursor: '-1' }]) {
        expect(await logbook.items.query(bad).catch((error: { status: number }) => error.status)).to.equal(400);
      }
    });

    it('moves the status of an item with the event that says so', async () => {
      const { itemId } = await item();
      const event = await logbook.events.add({ itemId, eventType: 'done', statusTo: 'closed', payload: { by: 'me' } });
      expect(event).to.deep.include({
        itemId,
        eventType: 'done',
        statusTo: 'closed',
        source: 'tool',
        payload: { by: 'me' },
      });
      await logbook.events.add({ itemId, eventType: 'note' });
      expect((await logbook.items.get(itemId))?.status).to.equal('closed');
      expect((await logbook.events.query({ limit: 9, itemId })).rows).to.have.length(2);
      expect((await logbook.events.query({ limit: 9, eventType: 'done' })).rows).to.deep.equal([event]);
      expect(await logbook.events.add({ itemId: itemId + 1, eventType: 'note' })).to.equal(null);
    });

    it('attaches the same content to an item once', async () => {
      const { itemId } = await item();
      const given = { itemId, kind: 'evidence', uri: 'u', sha256: sha.toUpperCase(), sizeBytes: 5, meta: { t: 1 } };
      const first = await logbook.attachments.attach(given);
      const second = await logbook.attachments.attach({ ...given, uri: 'other' });
      expect(first?.created).to.equal(true);
      expect(first?.attachment).to.deep.include({ sha256: sha, uri: 'u', sizeBytes: 5, meta: { t: 1 } });
      expect(second).to.deep.equal({ attachment: first?.attachment, created: false });
      expect((await logbook.attachments.attach({ ...given, kind: 'log' }))?.created).to.equal(true);
      expect((await logbook.attachments.query({ limit: 9, itemId, sha256: sha })).rows).to.have.length(2);
      expect(await logbook.attachments.get(first?.attachment.attachmentId ?? 0)).to.deep.equal(first?.attachment);
      expect(await logbook.attachments.attach({ ...given, itemId: itemId + 1 })).to.equal(null);
    });

    it('leaves nothing of an item whose transaction fails', async () => {
      const failed = database.transaction(async (trx) => {
        const { itemId } = await logbook.items.add({ itemType: 'task', title: 't' }, { trx });
        await logbook.attachments.attach({ itemId, kind: 'k', uri: 'u', sha256: sha }, { trx });
        await logbook.events.add({ itemId, eventType: 'made' }, { trx });
        throw new Error('no');
      });
      expect(await failed.catch((error: Error) => error.message)).to.equal('no');
      expect((await logbook.items.query({ limit: 1 })).rows).to.deep.equal([]);
      expect((await logbook.attachments.query({ limit: 1 })).rows).to.deep.equal([]);
    });

    it('finds a patch by any of its names and says where it is kept', async () => {
      await database.statement(
        `insert into {scm.patch_blobs} (source_type, source_id, sha256) values ('git', 'abc', ?), ('git', 'def', ?)`,
        [sha, sha],
      );
      const found = await logbook.patches.find({ sourceType: 'git', sourceId: 'abc', sha256: sha.toUpperCase() });
      expect(found).to.deep.include({ sourceId: 'abc', uri: null, format: 'diff' });
      const blobId = found?.blobId ?? 0;
      expect(
        await logbook.patches.place(blobId, { uri: 'artifact://x', evidenceUri: 'memory://e', sizeBytes: 3 }),
      ).to.equal(true);
      expect(await logbook.patches.find({ evidenceUri: 'memory://e' })).to.deep.include({
        blobId,
        uri: 'artifact://x',
        sizeBytes: 3,
      });
      expect((await logbook.patches.find({ sha256: sha }))?.sourceId).to.equal('def');
      expect(await logbook.patches.find({ blobId: 999 })).to.equal(null);
      expect(await logbook.patches.find({})).to.equal(null);
      expect(await logbook.patches.place(999, { uri: 'u', evidenceUri: null, sizeBytes: 0 })).to.equal(false);
    });
  });
});
