# The same commands for those who type make; package.json holds them.
.PHONY: start test lint bench test-gateway-integration test-gateway-integration-full

start test:
	npm $@

lint bench:
	npm run $@

# The memory gateway over HTTP alone, and with the tests that stop and start its backend
test-gateway-integration:
	HTTP_ONLY_MODE=1 npm run test:gateway

test-gateway-integration-full:
	VERIFY_FULL=1 npm run test:gateway
