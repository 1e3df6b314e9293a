import type { CallContext, Command, CommandFacts, CommandResult } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { columns, textOption, wrongUsage } from './command-answer.js';

const LONGEST_NAME = 128;
const NAME_RULE = `A user is named by 1 to ${LONGEST_NAME} characters, no control characters among them and no blank at either end.`;

/** What a tool takes for an actor, and nothing else. */
function isUserId(text: string | undefined): text is string {
  if (text === undefined || text === '' || text !== text.trim()) return false;
  return [...text].length <= LONGEST_NAME && !/\p{Cc}/u.test(text);
}

interface Change {
  readonly userId: string;
  readonly reason: string;
  /** Null: it was so already, or there is no such user. */
  make(
    parts: GatewayParts,
    trx: Parameters<Parameters<GatewayParts['database']['transaction']>[0]>[0],
  ): Promise<boolean>;
}

/** Changes a user and says so in the audit trail, together. */
function change({ userId, reason, make }: Change, ctx: CallContext, parts: GatewayParts): Promise<boolean> {
  return parts.database.transaction(async (trx) => {
    if (!(await make(parts, trx))) return false;
    await parts.audit.write(
      {
        action: 'allow',
        operation: 'memory-gateway:users',
        reason,
        actorUserId: userId,
        principal: ctx.principal.id,
        correlationId: ctx.correlationId,
        evidence: { source: 'operator', correlation_id: ctx.correlationId },
      },
      { trx },
    );
    return true;
  });
}

async function list({ logbook }: GatewayParts): Promise<CommandResult> {
  const users = await logbook.users.list();
  const rows = users.map((user) => [user.userId, user.active ? 'active' : 'disabled', user.displayName ?? '']);
  return { exitCode: 0, data: { users }, text: columns([['USER', 'STATE', 'NAME'], ...rows]) };
}

/** `mortise memory users add|list|disable|enable`. */
export function usersCommand(facts: CommandFacts, parts: GatewayParts): Command {
  return {
    ...facts,
    isRead: ({ args }) => args[0] === 'list',
    async run(input, ctx) {
      const [what, userId, ...more] = input.args;
      if (what === 'list' && userId === undefined) return list(parts);
      const displayName = textOption(input, 'name');
      if (more.length > 0 || userId === undefined || displayName === null) return wrongUsage(facts.usage);
      if (!isUserId(userId)) return wrongUsage(facts.usage, NAME_RULE);
      if (what === 'add') {
        const reason = 'memory-gateway:user_added';
        const isNew = await change(
          {
            userId,
            reason,
            make: ({ logbook }, trx) => logbook.users.add(userId, { displayName: displayName ?? null }, { trx }),
          },
          ctx,
          parts,
        );
        if (isNew) return { exitCode: 0, data: { user_id: userId, added: true }, text: `Added ${userId}.` };
        return { exitCode: 1, data: { user_id: userId, added: false }, text: `${userId} exists already.` };
      }
      if (what !== 'disable' && what !== 'enable') return wrongUsage(facts.usage);
      const done = `${what}d` as const;
      const reason = `memory-gateway:user_${done}`;
      const isThere = await change(
        { userId, reason, make: ({ logbook }, trx) => logbook.users.setActive(userId, what === 'enable', { trx }) },
        ctx,
        parts,
      );
      const data = { user_id: userId, [done]: isThere };
      if (!isThere) return { exitCode: 1, data, text: `There is no user ${userId}.` };
      return { exitCode: 0, data, text: `${what === 'enable' ? 'Enabled' : 'Disabled'} ${userId}.` };
    },
  };
}
