import eslint from '@eslint/js'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'

export default defineConfig(
  globalIgnores([
    'dist/',
    'generated/',
    '.tap/',
    'tools/gate/.venv/',
    'tools/gate/.sdk/',
    'tools/gate/sdk/*/'
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
  {
    files: ['test/**', 'deploy/**', 'tools/gate/**'],
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
  { files: ['**/*.js'], extends: [tseslint.configs.disableTypeChecked] },
  {
    files: ['src/openapi/docs/*.js'],
    languageOptions: {
      globals: {
        matchMedia: 'readonly',
        document: 'readonly',
        URL: 'readonly',
        SwaggerUIStandalonePreset: 'readonly'
      }
    }
  }
)
