# The same commands for those who type just; package.json holds them.

# All tests with all checks; arguments go to mocha: just test --grep outbox
test *arguments:
    npm test -- {{arguments}}

# Tests that open no database and no port
test-unit *arguments:
    npm run test:unit -- {{arguments}}

# The others, on SQLite and on PostgreSQL
test-integration *arguments:
    npm run test:integration -- {{arguments}}

# What continuous integration runs, in its order
ci:
    npm run ci
