/**
 * The size of a repeated or randomised test: short in `npm test`, long in `npm run test:long`, which runs the files that
 * call this.
 */
export function rounds<T>(short: T, long: T): T {
  return process.env.MORTISE_TEST_ROUNDS === 'long' ? long : short;
}
