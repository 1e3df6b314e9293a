/** Names of all members of an object, inherited ones too, and whether each is a function. */
export function membersOf(value: object): ReadonlyMap<string | symbol, boolean> {
  const members = new Map<string | symbol, boolean>();
  for (let level = value; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Reflect.ownKeys(level)) {
      if (name === 'constructor' || members.has(name)) continue;
      members.set(name, typeof Object.getOwnPropertyDescriptor(level, name)?.value === 'function');
    }
  }
  return members;
}
