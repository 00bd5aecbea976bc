import { existsSync } from 'node:fs'
import { stderr } from 'node:process'
import eslint from '@eslint/js'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'

/** Tools with packages of their own: without these, their types are unknown. */
const notInstalled = ['tools/contract/', 'tools/docs-page/'].filter(
  (tool) => !existsSync(`${tool}node_modules`)
)

if (notInstalled.length > 0)
  stderr.write(`ESLint skips ${notInstalled.join(', ')}: not installed\n`)

/** What keeps the code readable: one thing a line, short functions. */
const readable = {
  'max-lines-per-function': [
    'error',
    { max: 50, skipBlankLines: true, skipComments: true }
  ],
  complexity: ['error', 10],
  'no-return-assign': ['error', 'always'],
  'no-sequences': ['error', { allowInParentheses: false }],
  'no-void': 'error',
  '@typescript-eslint/no-shadow': 'error',
  // Prettier wraps code, but not comments.
  'max-len': [
    'error',
    { code: Number.MAX_SAFE_INTEGER, comments: 80, ignoreUrls: true }
  ]
}

/** Selectors of ESLint. */
const topLevelTest =
  'Program > ExpressionStatement:has(> CallExpression[callee.property.name="test"])'
const waits =
  'ExpressionStatement:has(> AwaitExpression), VariableDeclaration:has(> VariableDeclarator > AwaitExpression)'

export default defineConfig(
  globalIgnores([
    '**/dist/',
    'generated/',
    '.tap/',
    '**/.venv/',
    'tools/another-api/train/',
    'tools/clients/.work/',
    'tools/clients/programs/',
    ...notInstalled
  ]),
  eslint.configs.recommended,
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: {
          allowDefaultProject: [
            'eslint.config.js',
            'test/support/typescript.js'
          ]
        }
      }
    }
  },
  { files: ['{src,test,tools,deploy}/**'], rules: readable },
  {
    // One function has the operations of a resource.
    files: ['src/handlers/**'],
    rules: { 'max-lines-per-function': 'off' }
  },
  {
    files: ['{src,tools}/**'],
    // Braces around what takes more than one line, and nothing else.
    rules: { curly: ['error', 'multi-or-nest', 'consistent'] }
  },
  {
    files: ['test/**', 'tools/**'],
    rules: {
      // tap awaits its subtests itself.
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafePromises: [
            {
              from: 'package',
              name: 'PromiseWithSubtest',
              package: '@tapjs/core'
            }
          ]
        }
      ]
    }
  },
  {
    files: ['test/**', 'tools/**/*.test.ts'],
    rules: {
      // A test reads from top to bottom, and its `t` is that of the test.
      'max-lines-per-function': [
        'error',
        { max: 60, skipBlankLines: true, skipComments: true }
      ],
      '@typescript-eslint/no-shadow': ['error', { allow: ['t'] }],
      'no-restricted-syntax': [
        'error',
        {
          selector: `${topLevelTest} ~ :matches(${waits})`,
          message:
            'tap may end the file, and what it started, while it waits here: start it above the first test.'
        }
      ]
    }
  },
  {
    files: ['samples/**'],
    rules: {
      // Without API_KEY, the service responds with an error that says it.
      '@typescript-eslint/restrict-template-expressions': 'off'
    }
  },
  { files: ['**/*.js'], extends: [tseslint.configs.disableTypeChecked] },
  {
    files: ['src/framework/openapi/docs/*.js'],
    languageOptions: {
      globals: {
        URL: 'readonly',
        addEventListener: 'readonly',
        document: 'readonly',
        history: 'readonly',
        location: 'readonly',
        matchMedia: 'readonly',
        window: 'readonly'
      }
    }
  }
)
