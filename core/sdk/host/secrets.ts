export interface SecretsService {
  /** The value of a secret named in the manifest's `permissions.secrets`; undefined when unset or blank. */
  get(name: string): string | undefined;
  /** The names that have a value and that the manifest lists, without variables that are settings of some plugin. */
  names(): readonly string[];
  /** Compares in constant time, whatever the lengths. */
  equal(a: string, b: string): boolean;
  /**
   * The text in the form in which a plugin stores it: encrypted (AES-256-GCM) when the host has a secret key
   * (`MORTISE_SECRET_KEY`), otherwise clear.
   *
   * @param place where it is stored, such as `providers/openai`: a value that was moved to another place cannot be read
   */
  seal(text: string, place: string): string;
  /**
   * The text that {@link seal} stored, whether or not a secret key was set at the time.
   * @throws MortiseError `secret_unreadable` when it was encrypted with another key, or altered
   */
  unseal(stored: string, place: string): string;
}
