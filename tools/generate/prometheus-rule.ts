const head = `# Generated from deploy/observability/rules.yml by \`npm run generate\`. Do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: api
spec:
`

/**
 * The rules for the Prometheus Operator: kustomize cannot insert a file into
 * another one.
 *
 * @param rules the text of a file for `rule_files`
 */
export function prometheusRule(rules: string): string {
  const groups = rules.slice(rules.indexOf('groups:'))
  return head + groups.replaceAll(/^(?=.)/gm, '  ')
}
