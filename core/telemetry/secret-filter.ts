import { redactSecrets } from '../sdk/index.js';

const shortest = 6;

/** The values no log line may hold, whatever member or text they hide in. */
export interface SecretFilter {
  hide(secret: string): void;
  clean(text: string): string;
  /** Grows when more is hidden: what was cleaned before may have to be cleaned again. */
  readonly revision: number;
}

export function createSecretFilter(): SecretFilter {
  let revision = 0;
  /** Longest first: a secret that contains another one is replaced as a whole. */
  let known: readonly string[] = [];
  let least = Number.POSITIVE_INFINITY;

  return {
    get revision() {
      return revision;
    },
    hide(secret) {
      if (secret.length < shortest || known.includes(secret)) return;
      const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
      known = [...new Set([...known, ...forms])].sort((a, b) => b.length - a.length);
      least = known.at(-1)?.length ?? least;
      revision += 1;
    },
    clean(text) {
      if (text.length < shortest) return text;
      let without = text;
      if (text.length >= least) {
        for (const secret of known) if (without.includes(secret)) without = without.replaceAll(secret, '[REDACTED]');
      }
      return redactSecrets(without);
    },
  };
}
