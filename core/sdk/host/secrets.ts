export interface SecretsService {
  /** The value of a secret named in the manifest's `permissions.secrets`; undefined when unset or blank. */
  get(name: string): string | undefined;
  /** Compares in constant time, whatever the lengths. */
  equal(a: string, b: string): boolean;
}
