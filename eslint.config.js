import eslint from '@eslint/js'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'

export default defineConfig(
  globalIgnores([
    '**/dist/',
    '.venv/',
    'generated/',
    '.tap/',
    'tools/clients/*/'
  ]),
  eslint.configs.recommended,
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['eslint.config.js'] }
      }
    },
    rules: {
      complexity: ['error', 10],
      'max-lines-per-function': [
        'error',
        { max: 60, skipBlankLines: true, skipComments: true }
      ],
      '@typescript-eslint/no-shadow': ['error', { allow: ['t'] }]
    }
  },
  {
    // One function has the operations of a resource, or a whole statement.
    files: ['src/handlers/**', 'src/creates/insert-statement.ts'],
    rules: { 'max-lines-per-function': 'off' }
  },
  {
    // tap awaits its subtests itself.
    files: ['test/**', 'tools/**/*.test.ts'],
    rules: { '@typescript-eslint/no-floating-promises': 'off' }
  },
  { files: ['**/*.js'], extends: [tseslint.configs.disableTypeChecked] }
)
