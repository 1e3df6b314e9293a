import type { AuditService } from 'mortise/contracts/logbook';
import { type CallContext, type Database, MortiseError } from 'mortise/sdk';
import { hashOf, type McpDefinition, pinned } from './definition.js';

interface PinnedTool {
  readonly server: string;
  readonly tool: string;
  /** A tool that differs from what was accepted is withheld. */
  readonly state: 'accepted' | 'changed';
  readonly acceptedSha256: string;
  readonly offeredSha256: string;
  readonly offered: McpDefinition;
}

interface Row {
  readonly server: string;
  readonly tool: string;
  readonly accepted_sha256: string;
  readonly offered_sha256: string;
  readonly offered: unknown;
}

const table = 'agent.mcp_tools';

/** The accepted definitions of tools. The first one that a server offers is accepted; any other one waits for an admin. */
export class Pins {
  readonly #database: Database;
  readonly #audit: AuditService;

  constructor(database: Database, audit: AuditService) {
    this.#database = database;
    this.#audit = audit;
  }

  /** Records what a server offers. @returns the tools whose definition is not the accepted one */
  async offer(server: string, definitions: readonly McpDefinition[]): Promise<ReadonlySet<string>> {
    const { codec } = this.#database;
    const changed = new Set<string>();
    await this.#database.transaction(async (trx) => {
      const rows = trx(this.#database.table(table));
      const known: Row[] = await rows.clone().where({ server });
      const now = codec.time(Date.now());
      for (const definition of definitions) {
        const hash = hashOf(definition);
        const offered = { offered_sha256: hash, offered: codec.json(pinned(definition)), updated_at: now };
        const row = known.find(({ tool }) => tool === definition.name);
        if (row && row.accepted_sha256 !== hash) changed.add(definition.name);
        if (row?.offered_sha256 === hash) continue;
        const where = { server, tool: definition.name };
        if (row) await rows.clone().where(where).update(offered);
        else {
          const first = { ...where, ...offered, accepted_sha256: hash, created_at: now };
          // Another replica may have been first; its row decides.
          await rows.clone().insert(first).onConflict(['server', 'tool']).ignore();
        }
      }
    });
    return changed;
  }

  async list(): Promise<readonly PinnedTool[]> {
    const rows: Row[] = await this.#database.query()(this.#database.table(table)).orderBy(['server', 'tool']);
    return rows.map((row) => ({
      server: row.server,
      tool: row.tool,
      state: row.accepted_sha256 === row.offered_sha256 ? 'accepted' : 'changed',
      acceptedSha256: row.accepted_sha256,
      offeredSha256: row.offered_sha256,
      offered: this.#database.codec.parseJson<McpDefinition>(row.offered),
    }));
  }

  /**
   * Accepts the definition that a server offers now, with its audit row.
   *
   * @param sha256 what the admin has seen; a tool that changed again meanwhile is not accepted
   * @throws mcp_tool_not_found (404), mcp_tool_changed (409)
   */
  async accept(server: string, tool: string, sha256: string | undefined, ctx: CallContext): Promise<PinnedTool> {
    await this.#database.transaction(async (trx) => {
      const rows = trx(this.#database.table(table)).where({ server, tool });
      const row: Row | undefined = await rows.clone().first();
      if (!row) throw new MortiseError('mcp_tool_not_found', 'no MCP server offers this tool', { status: 404 });
      const offered = sha256 ?? row.offered_sha256;
      const now = this.#database.codec.time(Date.now());
      const accepted = { accepted_sha256: offered, updated_at: now };
      if ((await rows.clone().where({ offered_sha256: offered }).update(accepted)) === 0) {
        throw new MortiseError('mcp_tool_changed', 'the tool has changed again', {
          status: 409,
          hint: 'Look at the new definition first.',
        });
      }
      await this.#audit.write(
        {
          action: 'allow',
          operation: 'tool-mcp:accept',
          reason: 'tool-mcp:accepted',
          principal: ctx.principal.id,
          correlationId: ctx.correlationId,
          targetSpace: `${server}/${tool}`,
          evidence: { before: row.accepted_sha256, after: offered },
        },
        { trx },
      );
    });
    const found = (await this.list()).find((one) => one.server === server && one.tool === tool);
    if (!found) throw new MortiseError('mcp_tool_not_found', 'no MCP server offers this tool', { status: 404 });
    return found;
  }
}
