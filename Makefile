# The same commands for those who type make; package.json holds them.
.PHONY: start test lint bench

start test:
	npm $@

lint bench:
	npm run $@
