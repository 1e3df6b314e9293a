import type { Contribution, Disposable, Points, Principal, SchemasService, ToolFacts } from 'mortise/sdk';
import { type Page, page } from '../wire/cursor.js';
import { type JsonObject, membersText } from '../wire/json.js';
import { hasStructuredContent } from '../wire/versions.js';
import { type ArgumentSchema, compileArguments } from './arguments.js';

/** A tool as this endpoint offers it. */
export interface ListedTool {
  readonly name: string;
  readonly plugin: string;
  readonly facts: ToolFacts;
  /** False: its plugin is enabled but does not run. */
  readonly active: boolean;
  /** Not everyone is offered it. */
  readonly restricted: boolean;
  /** @throws MortiseError `invalid_schema`. */
  schema(): ArgumentSchema;
}

export interface ToolListing {
  find(name: string, principal: Principal): ListedTool | undefined | Promise<ListedTool | undefined>;
  /** One page as the members of a result: `"tools":[…],"nextCursor":…`. */
  pageText(version: string, principal: Principal, offsetOf: (length: number) => number): Promise<string>;
  all(): Promise<readonly ListedTool[]>;
  /** Tools came, went or changed since the list was last made. */
  onChange(run: () => void): Disposable;
}

export interface ListingOptions {
  /** Names that come first, in this order. */
  readonly order: readonly string[];
  /** Names listed whatever their audience. */
  readonly extra: readonly string[];
  /** Names that are neither listed nor called. */
  readonly disabled: readonly string[];
  readonly schemas: SchemasService;
}

interface Snapshot {
  readonly tools: readonly ListedTool[];
  readonly byName: ReadonlyMap<string, ListedTool>;
  readonly restricted: boolean;
  /** Pages that are the same for everyone. */
  readonly pages: Map<string, string>;
}

/** The tools of all plugins, read again when one of them changes and kept as bytes in between. */
export function createToolListing(points: Points, options: ListingOptions): ToolListing & Disposable {
  const listeners = new Set<() => void>();
  let current: Snapshot | undefined;
  const snapshotNow = (): Snapshot => {
    current ??= readTools(points, options);
    return current;
  };

  const watch = points.onChange('tool', () => {
    const before = current ? fingerprint(current) : undefined;
    current = undefined;
    if (before !== undefined && before === fingerprint(snapshotNow())) return;
    for (const run of listeners) run();
  });

  return {
    async all() {
      return snapshotNow().tools;
    },
    find(name, principal) {
      const tool = snapshotNow().byName.get(name);
      if (!tool?.restricted) return tool;
      return offered(points, tool, principal).then((isOffered) => (isOffered ? tool : undefined));
    },
    async pageText(version, principal, offsetOf) {
      const snapshot = snapshotNow();
      if (snapshot.restricted) {
        const visible = await visibleTo(points, snapshot.tools, principal);
        return listText(page(visible, offsetOf(visible.length)), version);
      }
      const offset = offsetOf(snapshot.tools.length);
      const key = `${hasStructuredContent(version)} ${offset}`;
      let text = snapshot.pages.get(key);
      if (text === undefined) {
        text = listText(page(snapshot.tools, offset), version);
        snapshot.pages.set(key, text);
      }
      return text;
    },
    onChange(run) {
      listeners.add(run);
      return { dispose: () => void listeners.delete(run) };
    },
    dispose: () => watch.dispose(),
  };
}

function readTools(points: Points, options: ListingOptions): Snapshot {
  const offers = points
    .list('tool')
    .filter(({ key, facts }) => facts.audience.includes('mcp') || options.extra.includes(key))
    .filter(({ key }) => !options.disabled.includes(key));
  const place = (key: string) => {
    const index = options.order.indexOf(key);
    return index < 0 ? options.order.length : index;
  };
  const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  offers.sort((a, b) => place(a.key) - place(b.key) || byText(a.plugin, b.plugin) || byText(a.key, b.key));
  const tools = offers.map((offer) => listed(options.schemas, offer));
  return {
    tools,
    byName: new Map(tools.map((tool) => [tool.name, tool])),
    restricted: tools.some((tool) => tool.restricted),
    pages: new Map(),
  };
}

function listed(schemas: SchemasService, offer: Contribution<'tool'>): ListedTool {
  let schema: ArgumentSchema | undefined;
  return {
    name: offer.key,
    plugin: offer.plugin,
    facts: offer.facts,
    active: offer.active,
    restricted: offer.offers.includes('visibleTo'),
    schema: () => {
      schema ??= compileArguments(schemas, offer.key, offer.facts.inputSchema);
      return schema;
    },
  };
}

/** A tool that cannot say whom it is for is for nobody. */
async function offered(points: Points, tool: ListedTool, principal: Principal): Promise<boolean> {
  try {
    return await points.call('tool', tool.name, (value) => value.visibleTo?.(principal) ?? true, { principal });
  } catch {
    return false;
  }
}

async function visibleTo(
  points: Points,
  tools: readonly ListedTool[],
  principal: Principal,
): Promise<readonly ListedTool[]> {
  const shown = await Promise.all(tools.map((tool) => !tool.restricted || offered(points, tool, principal)));
  return tools.filter((_, index) => shown[index]);
}

function listText(listing: Page<ListedTool>, version: string): string {
  const withOutput = hasStructuredContent(version);
  return membersText({
    tools: listing.items.map(({ name, facts }) => ({
      name,
      title: facts.title,
      description: facts.description ?? facts.summary,
      inputSchema: facts.inputSchema,
      outputSchema: withOutput ? facts.outputSchema : undefined,
      annotations: facts.annotations,
    })),
    nextCursor: listing.next,
  });
}

function fingerprint(snapshot: Snapshot): string {
  const rows = snapshot.tools.map(({ name, plugin, facts }): JsonObject => ({ name, plugin, facts }));
  return JSON.stringify(rows);
}
