import { isCodedError, MortiseError } from 'mortise/sdk';

const table = {
  invalid_json: [400, 'invalid request body'],
  invalid_skill: [400, 'invalid skill'],
  skill_not_found: [404, 'skill not found'],
  skill_file_not_found: [404, 'skill file not found'],
  forbidden: [403, 'this key may not change the skills of all users'],
  file_error: [500, 'the files of the skill could not be written'],
  store_error: [500, 'the skill store is not available'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

type SkillErrorCode = keyof typeof table;

/** Wire codes of rows that share one code. */
const wireCodes: Partial<Record<SkillErrorCode, string>> = {
  skill_not_found: 'not_found',
  skill_file_not_found: 'not_found',
};

interface SkillErrorOptions {
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** An error of this plugin; `message` replaces the sentence of its row. */
export function skillError(code: SkillErrorCode, { message, ...options }: SkillErrorOptions = {}): MortiseError {
  const [status, sentence] = table[code];
  return new MortiseError(wireCodes[code] ?? code, message ?? sentence, { status, ...options });
}

/** Runs a store operation; an error of the database becomes `store_error`, with the cause for the log only. */
export async function storing<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (isCodedError(error)) throw error;
    throw skillError('store_error', { cause: error });
  }
}
