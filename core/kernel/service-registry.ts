/** Services that plugins provide, by name; each has at most one provider at a time. */
export class ServiceRegistry {
  #services: ReadonlyMap<string, { readonly plugin: string; readonly value: unknown }> = new Map();
  readonly #watchers = new Map<string, Set<(value: unknown) => void>>();

  get(service: string): { readonly plugin: string; readonly value: unknown } | undefined {
    return this.#services.get(service);
  }

  publish(plugin: string, provided: ReadonlyMap<string, unknown>): void {
    if (provided.size === 0) return;
    this.#services = new Map([
      ...this.#services,
      ...[...provided].map(([name, value]) => [name, { plugin, value }] as const),
    ]);
    for (const [name, value] of provided) this.#notify(name, value);
  }

  withdraw(plugin: string): void {
    const gone = [...this.#services].filter(([, service]) => service.plugin === plugin).map(([name]) => name);
    if (gone.length === 0) return;
    this.#services = new Map([...this.#services].filter(([, service]) => service.plugin !== plugin));
    for (const name of gone) this.#notify(name, undefined);
  }

  watch(service: string, run: (value: unknown) => void): () => void {
    const watchers = this.#watchers.get(service) ?? new Set();
    this.#watchers.set(service, watchers);
    watchers.add(run);
    return () => watchers.delete(run);
  }

  watcherCount(): number {
    return [...this.#watchers.values()].reduce((sum, watchers) => sum + watchers.size, 0);
  }

  #notify(service: string, value: unknown): void {
    for (const watcher of [...(this.#watchers.get(service) ?? [])]) watcher(value);
  }
}
