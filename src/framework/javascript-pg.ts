// Each program imports this before pg, which reads the variable when it is
// loaded, and would look for a package that is not installed.
delete process.env['NODE_PG_FORCE_NATIVE']
