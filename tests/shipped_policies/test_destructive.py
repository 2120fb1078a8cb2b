"""Which lines throw data or work away: behind short forms, on standard input, and by options of cloud programs."""

from tests.support.cases import every
from tests.support.shipped import shipped

DESTROYS = r"""
pnpm prisma migrate reset --force
yarn prisma migrate reset -f
bun prisma migrate reset
bunx prisma migrate reset
npx prisma migrate reset
pnpm exec prisma migrate reset
pnpm --filter db prisma migrate reset
yarn workspace db prisma migrate reset
npm exec prisma migrate reset
pnpm rimraf dist
psql <<< 'truncate t'
echo 'DROP TABLE users;' | psql
printf 'drop table x;' | mysql db
docker compose exec -T db psql -c 'drop table x'
kubectl exec -i p -- psql <<< 'drop database x'
mysql -e 'drop database x'
mysql --execute='drop database x'
sqlite3 a.db <<< 'delete from t'
sqlite3 a.db 'drop table x'
echo flushall | redis-cli
redis-cli FlushAll
mongosh <<< 'db.dropDatabase()'
mongosh --eval 'db.dropDatabase()'
sqlcmd -Q 'drop table x'
clickhouse-client --query 'drop table x'
wrangler d1 execute db --command 'DROP TABLE x'
wrangler d1 execute db --command="DROP TABLE x"
pnpm wrangler d1 execute db --remote --command 'DELETE FROM x'
npx wrangler d1 delete db
bq query 'DROP TABLE x'
bq query --use_legacy_sql=false 'DELETE FROM d.t WHERE true'
bq rm -r -f d
gh pr merge 2 --squash --delete-branch
gh pr merge 2 -sd
gh pr merge -d 2
aws s3 rm s3://b --recursive
aws --profile p s3 rm s3://b --recursive
aws --region eu-west-1 ec2 terminate-instances --instance-ids i-1
aws s3 sync . s3://b --delete
aws s3 rb s3://b --force
aws rds delete-db-instance --db-instance-identifier x
aws dynamodb delete-table --table-name x
gcloud projects delete x --quiet
gcloud --quiet sql instances delete x
gsutil -m rm -r gs://b
gcloud storage rm -r gs://b
az group delete -n x --yes
kubectl -n x delete ns y
kubectl delete -f a.yaml
helm -n x uninstall y
terraform -chdir=infra destroy -auto-approve
terraform apply -destroy
docker compose -f a.yaml down -v
docker compose down --volumes
docker-compose down -v
docker volume rm x
docker volume prune -f
docker system prune -a --volumes
supabase db reset --linked
php artisan migrate:fresh --seed
php artisan db:wipe
rails db:drop
bin/rails db:reset
rake db:drop
python manage.py flush --noinput
python manage.py reset_db
alembic downgrade base
flyway clean
npx sequelize db:drop
heroku pg:reset
heroku pg:reset DATABASE --confirm x
fly apps destroy x
vercel remove x
pg_restore --clean -d x a
dropdb x
"""

KEEPS = r"""
pnpm prisma generate
pnpm prisma migrate dev
yarn prisma studio
pnpm test
pnpm build
yarn dev
bun test
bun run build
psql -c 'select 1'
psql <<< 'select 1'
echo 'select 1' | psql
psql <<< "select 'drop table x'"
echo '-- drop table x' | psql
echo ping | redis-cli
mongosh <<< 'db.x.find()'
wrangler d1 execute db --command 'select 1'
bq query 'select 1'
gh pr merge 2 --squash
gh pr merge 2 --squash --subject 'drop -d'
aws s3 cp a s3://b
aws s3 sync . s3://b
aws s3 ls
kubectl get pods
helm list
terraform plan
terraform plan -destroy
docker compose up
supabase start
php artisan migrate
rails db:migrate
python manage.py migrate
git clean -n
git reset --soft HEAD~1
git stash
git checkout -b x
mysql -e 'show tables'
"""
HERE_DOCUMENTS = ["cat <<S | psql x\nDROP TABLE users;\nS", "docker exec -i db psql -U x <<'S'\nDROP TABLE users;\nS"]


def is_destructive(line):
    return "destructive" in shipped().shells.read(line).categories


@every("line", [*DESTROYS.strip().splitlines(), *HERE_DOCUMENTS])
def test_what_throws_data_away_is_destructive(line):
    assert is_destructive(line)


@every("line", KEEPS.strip().splitlines())
def test_what_keeps_it_is_not(line):
    assert not is_destructive(line)
