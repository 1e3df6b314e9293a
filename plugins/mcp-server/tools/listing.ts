import type { Contribution, Disposable, JsonObject, Points, Principal, SchemasService, ToolFacts } from 'mortise/sdk';
import { membersText } from '../wire/message.js';
import { type Page, page } from '../wire/params.js';
import { hasStructuredContent } from '../wire/protocol.js';
import { type ArgumentSchema, compileArguments } from './arguments.js';

/** A tool in the list of this endpoint. */
export interface ListedTool {
  readonly name: string;
  readonly plugin: string;
  readonly facts: ToolFacts;
  /** False when its plugin is enabled but not running. */
  readonly active: boolean;
  /** Visible to some principals only. */
  readonly restricted: boolean;
  /** @throws MortiseError `invalid_schema`. */
  schema(): ArgumentSchema;
}

export interface ToolListing {
  find(name: string, principal: Principal): ListedTool | undefined | Promise<ListedTool | undefined>;
  /** One page as the members of a result: `"tools":[…],"nextCursor":…`. */
  pageText(version: string, principal: Principal, offsetOf: (length: number) => number): Promise<string>;
  /** Called when tools were added, removed or changed. */
  onChange(run: () => void): Disposable;
}

interface ListingOptions {
  /** Names listed first, in this order. */
  readonly order: readonly string[];
  /** Names listed regardless of their audience. */
  readonly extra: readonly string[];
  /** Names that are neither listed nor called. */
  readonly disabled: readonly string[];
  readonly schemas: SchemasService;
}

interface Snapshot {
  readonly tools: readonly ListedTool[];
  readonly byName: ReadonlyMap<string, ListedTool>;
  readonly restricted: boolean;
  /** Text of pages that are the same for all principals. */
  readonly pages: Map<string, string>;
}

/** The tools of all plugins, with their pages cached as text until a tool changes. */
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
    find(name, principal) {
      const tool = snapshotNow().byName.get(name);
      if (!tool?.restricted) return tool;
      return isVisibleTo(points, tool, principal).then((isVisible) => (isVisible ? tool : undefined));
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
  const contributions = points
    .list('tool')
    .filter(({ key, facts }) => facts.audience.includes('mcp') || options.extra.includes(key))
    .filter(({ key }) => !options.disabled.includes(key));
  const place = (key: string) => {
    const index = options.order.indexOf(key);
    return index < 0 ? options.order.length : index;
  };
  const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  contributions.sort((a, b) => place(a.key) - place(b.key) || byText(a.plugin, b.plugin) || byText(a.key, b.key));
  const tools = contributions.map((contribution) => listed(options.schemas, contribution));
  return {
    tools,
    byName: new Map(tools.map((tool) => [tool.name, tool])),
    restricted: tools.some((tool) => tool.restricted),
    pages: new Map(),
  };
}

function listed(schemas: SchemasService, { key, plugin, facts, active, offers }: Contribution<'tool'>): ListedTool {
  let schema: ArgumentSchema | undefined;
  return {
    name: key,
    plugin,
    facts,
    active,
    restricted: offers.includes('visibleTo'),
    schema: () => {
      schema ??= compileArguments(schemas, key, facts.inputSchema);
      return schema;
    },
  };
}

/** A tool whose `visibleTo` fails is hidden. */
async function isVisibleTo(points: Points, tool: ListedTool, principal: Principal): Promise<boolean> {
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
  const shown = await Promise.all(tools.map((tool) => !tool.restricted || isVisibleTo(points, tool, principal)));
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
