import { type Database, type InstancesService, isJsonObject, newUlid } from 'mortise/sdk';
import { storing } from '../errors.js';
import { keyOfEvent, type QqEvent } from './read-event.js';

/** An event that this process handles. */
export interface StoredEvent extends QqEvent {
  /** Key of its row. */
  readonly key: string;
}

export type EventEnd = 'done' | 'failed';

const channel = 'qq';

interface StoreDeps {
  readonly database: Database;
  readonly instances: InstancesService;
}

/**
 * All statements on the rows of received events. `received` and `running` rows belong to a process, which
 * finishes them; the rows of a dead process are taken over.
 */
export class EventStore {
  readonly #database: Database;
  readonly #instances: InstancesService;

  constructor({ database, instances }: StoreDeps) {
    this.#database = database;
    this.#instances = instances;
  }

  /** @returns undefined for an event that was received before. */
  async add(event: QqEvent): Promise<StoredEvent | undefined> {
    const position = newUlid();
    const key = event.id === undefined ? `unnamed-${position}` : keyOfEvent(event.id);
    const added = await storing(() =>
      this.#rows()
        .insert({
          channel,
          event_id: key,
          payload_json: this.#database.codec.json(event),
          state: 'received',
          owner_instance: this.#instances.id,
          position,
        })
        .onConflict(['channel', 'event_id'])
        .ignore()
        .returning('event_id'),
    );
    return added.length === 0 ? undefined : { ...event, key };
  }

  async start(key: string): Promise<void> {
    await this.#update(key, { state: 'running' });
  }

  /** The text is removed: it is in the chat. */
  async finish(key: string, end: EventEnd, turnId: string | undefined): Promise<void> {
    await this.#update(key, { state: end, turn_id: turnId ?? null, payload_json: '{}', owner_instance: null });
  }

  /** Lets another process, or a later start of this plugin, handle the event. */
  async release(key: string): Promise<void> {
    await this.#update(key, { state: 'received', owner_instance: null });
  }

  /** Removes an event that had no effect, so that its sender may repeat it. */
  async remove(key: string): Promise<void> {
    await this.#rows().where({ channel, event_id: key }).delete();
  }

  /**
   * Takes over the events that no living process handles, in order of arrival.
   * @param isHeld whether this process handles the event of a key
   */
  async takeOver(isHeld: (key: string) => boolean): Promise<readonly StoredEvent[]> {
    const open = await this.#rows()
      .where({ channel })
      .whereIn('state', ['received', 'running'])
      .orderBy('position')
      .select('event_id', 'owner_instance');
    const alive = new Map<string, boolean>();
    const taken: StoredEvent[] = [];
    for (const { event_id: key, owner_instance: owner } of open as {
      event_id: string;
      owner_instance: string | null;
    }[]) {
      if (owner === this.#instances.id) {
        if (isHeld(key)) continue;
      } else if (owner !== null) {
        if (!alive.has(owner)) alive.set(owner, await this.#instances.isAlive(owner));
        if (alive.get(owner)) continue;
      }
      const [row] = await this.#rows()
        .where({ channel, event_id: key, owner_instance: owner })
        .whereIn('state', ['received', 'running'])
        .update({ owner_instance: this.#instances.id, updated_at: this.#now() })
        .returning('payload_json');
      const event = row && this.#database.codec.parseJson(row.payload_json);
      if (isJsonObject(event)) taken.push({ ...(event as unknown as QqEvent), key });
    }
    return taken;
  }

  /** Removes handled events that were received before a time. */
  async forget(before: Date): Promise<void> {
    await this.#rows()
      .where({ channel })
      .whereIn('state', ['done', 'failed'])
      .where('received_at', '<', this.#database.codec.time(before))
      .delete();
  }

  async #update(key: string, values: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#rows()
      .where({ channel, event_id: key })
      .update({ ...values, updated_at: this.#now() });
  }

  #rows() {
    return this.#database.query()(this.#database.table('agent.inbound_events'));
  }

  #now(): string {
    return this.#database.codec.time(Date.now());
  }
}
