import {
  type CallContext,
  type CommandInput,
  type HttpService,
  isJsonObject,
  MortiseError,
  type Points,
  type Refusal,
  type Route,
} from 'mortise/sdk';
import type { ChangeAudit } from './audit-changes.js';

/** Lists the commands that plugins contribute. */
export function commandListRoute(points: Points): Route {
  return {
    handle: () => ({
      body: {
        commands: points.list('command').map(({ key, plugin, active, facts }) => ({ key, plugin, active, ...facts })),
      },
    }),
  };
}

/**
 * Runs a command in the server with the right that it declares. It is aborted when the caller disconnects.
 *
 * @throws MortiseError `admin_required` (403), also for a command that does not exist
 */
export function commandRunRoute(
  points: Points,
  audit: ChangeAudit,
  http: Pick<HttpService, 'adminHint'>,
  refused: (refusal: Refusal) => void,
): Route {
  return {
    handle: async ({ params, body }, ctx) => {
      const key = params.key ?? '';
      const { principal, correlationId } = ctx;
      const { plugin = key, facts } = points.list('command').find((one) => one.key === key) ?? {};
      if (facts?.auth !== 'key' && !principal.admin) {
        const target = facts ? `command ${key}` : 'POST /admin/commands/:key';
        refused({ reason: 'admin_required', subject: principal.id, target, correlationId });
        throw new MortiseError('admin_required', 'this action needs the admin right', {
          status: 403,
          hint: http.adminHint,
        });
      }
      const input = inputOf(body);
      const run = () => points.call('command', key, (command, own) => command.run(input, own), ctx);
      const change = { action: 'command', key: plugin, principal, correlationId };
      return { body: (await isRead(points, key, input, ctx)) ? await run() : await audit(change, run) };
    },
  };
}

/** Whether the command declares the input a read. All others are audited. */
async function isRead(points: Points, key: string, input: CommandInput, ctx: CallContext): Promise<boolean> {
  try {
    return await points.call('command', key, (command) => command.isRead?.(input) === true, ctx);
  } catch {
    return false;
  }
}

function inputOf(body: unknown): CommandInput {
  const {
    args = [],
    options = {},
    json = false,
    ...rest
  } = (body ?? {}) as Partial<Record<keyof CommandInput, unknown>>;
  const { cwd, terminal, resume } = rest;
  const isText = (value: unknown): boolean => typeof value === 'string';
  const isOption = (value: unknown): boolean =>
    isText(value) || typeof value === 'boolean' || (Array.isArray(value) && value.every(isText));
  const valid =
    (body === undefined || isJsonObject(body)) &&
    Array.isArray(args) &&
    args.every(isText) &&
    isJsonObject(options) &&
    Object.values(options).every(isOption) &&
    typeof json === 'boolean' &&
    (cwd === undefined || isText(cwd)) &&
    (resume === undefined || isText(resume)) &&
    (terminal === undefined || Number.isFinite((terminal as { columns?: unknown } | null)?.columns));
  if (!valid) {
    throw new MortiseError(
      'invalid_request',
      'The body must be {args?: [text], options?: {name: text, list of texts, true or false}, json?: true or false, cwd?: text, resume?: text, terminal?: {columns: number}}.',
      { status: 400 },
    );
  }
  return {
    args,
    options,
    json,
    ...(cwd === undefined ? {} : { cwd }),
    ...(terminal === undefined ? {} : { terminal }),
    ...(resume === undefined ? {} : { resume }),
  } as CommandInput;
}
