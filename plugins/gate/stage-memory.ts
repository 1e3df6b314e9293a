const entryLimit = 10_000;
const memoryLimit = 16;

/** A map that lets go of its oldest entry when it is full. */
class BoundedMap extends Map<string, unknown> {
  override set(key: string, value: unknown): this {
    if (!this.has(key) && this.size >= entryLimit) {
      const [oldest] = this.keys();
      if (oldest !== undefined) this.delete(oldest);
    }
    return super.set(key, value);
  }
}

/** What the stages of plugins remember between observations; one that only asks gets a copy. */
export class StageMemories {
  readonly #byStage = new Map<string, Map<string, BoundedMap>>();

  /** @throws RangeError when a stage asks for too many */
  of(stage: string, name: string, dryRun: boolean): Map<string, unknown> {
    const own = this.#byStage.get(stage) ?? new Map<string, BoundedMap>();
    const known = own.get(name);
    if (dryRun) return new BoundedMap(known);
    if (known) return known;
    if (own.size >= memoryLimit) throw new RangeError(`a stage has at most ${memoryLimit} memories`);
    const made = new BoundedMap();
    own.set(name, made);
    this.#byStage.set(stage, own);
    return made;
  }

  /** Forgets stages that are not there any more. */
  keep(stages: ReadonlySet<string>): void {
    for (const stage of this.#byStage.keys()) if (!stages.has(stage)) this.#byStage.delete(stage);
  }
}
