import type { Disposable } from './context.js';

/** Secrets known by their value, and texts without them. */
export class SecretValues {
  /** With the number of its registrations. */
  readonly #counts = new Map<string, number>();
  /** Each secret as it may be written. Longest first: a secret that contains another one is replaced as a whole. */
  #forms: readonly string[] = [];
  #shortest = Number.POSITIVE_INFINITY;

  add(secret: string): Disposable {
    this.#counts.set(secret, (this.#counts.get(secret) ?? 0) + 1);
    if (this.#counts.get(secret) === 1) this.#collect();
    let added = true;
    return {
      dispose: () => {
        if (!added) return;
        added = false;
        const left = (this.#counts.get(secret) ?? 1) - 1;
        if (left > 0) this.#counts.set(secret, left);
        else {
          this.#counts.delete(secret);
          this.#collect();
        }
      },
    };
  }

  has(secret: string): boolean {
    return this.#counts.has(secret);
  }

  redact(text: string): string {
    if (text.length < this.#shortest) return text;
    let clean = text;
    for (const form of this.#forms) if (clean.includes(form)) clean = clean.replaceAll(form, '[REDACTED]');
    return clean;
  }

  #collect(): void {
    const forms = [...this.#counts.keys()].flatMap((secret) => [
      secret,
      encodeURIComponent(secret.toWellFormed()),
      JSON.stringify(secret).slice(1, -1),
    ]);
    this.#forms = [...new Set(forms)].sort((a, b) => b.length - a.length);
    this.#shortest = this.#forms.at(-1)?.length ?? Number.POSITIVE_INFINITY;
  }
}
