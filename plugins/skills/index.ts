import { type PluginDefinition, runsAtCaller } from 'mortise/sdk';
import { deleteCommand, listCommand, toggleCommand } from './commands.js';
import { skillTable } from './migrations/0001-skills.js';
import { batchRoute, deleteRoute, fileRoute, listRoute, saveRoute, toggleRoute } from './routes.js';
import { SkillFolders } from './skill-folders.js';
import { openSkills } from './skill-store.js';
import { skillsSource } from './skills-layer.js';

/** Instructions with files that an agent reads when it needs them. */
export default function skillsPlugin(): PluginDefinition {
  return {
    key: 'skills',
    async start(host) {
      const database = host.use('database');
      await database.migrate([skillTable]);
      const folders = new SkillFolders(await host.use('files').ownFolder());
      const skills = await openSkills({ host, database, audit: host.use('audit'), folders });

      host.provide('skills', skills);
      host.contribute('prompt-source', 'skills', skillsSource(host.facts('prompt-source', 'skills'), skills.list));
      host.contribute(
        'route',
        'list-skills',
        listRoute(skills, () => true),
      );
      host.contribute(
        'route',
        'available-skills',
        listRoute(skills, ({ enabled }) => enabled),
      );
      host.contribute('route', 'save-skill', saveRoute(skills));
      host.contribute('route', 'enable-skills', batchRoute(skills, true));
      host.contribute('route', 'disable-skills', batchRoute(skills, false));
      host.contribute('route', 'enable-skill', toggleRoute(skills, true));
      host.contribute('route', 'disable-skill', toggleRoute(skills, false));
      host.contribute('route', 'delete-skill', deleteRoute(skills));
      host.contribute('route', 'skill-file', fileRoute(skills));
      host.contribute('command', 'skills-list', listCommand(host.facts('command', 'skills-list'), skills));
      host.contribute('command', 'skills-create', runsAtCaller(host.facts('command', 'skills-create')));
      host.contribute('command', 'skills-enable', toggleCommand(host.facts('command', 'skills-enable'), skills, true));
      host.contribute(
        'command',
        'skills-disable',
        toggleCommand(host.facts('command', 'skills-disable'), skills, false),
      );
      host.contribute('command', 'skills-delete', deleteCommand(host.facts('command', 'skills-delete'), skills));
    },
  };
}
