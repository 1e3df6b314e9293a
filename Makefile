# The same commands for those who type make; package.json holds them.
.PHONY: start test lint

start test:
	npm $@

lint:
	npm run $@
